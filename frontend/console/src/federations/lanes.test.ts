import { expect, it } from "vitest";
import { lanesOf } from "./lanes";
import type { RoundEvent } from "./queries";

function event(second: number, kind: RoundEvent["kind"], device: string | null, reason_sentence = ""): RoundEvent {
  const at = new Date(second * 1000).toISOString();
  return { id: second, at, kind, device, device_name: device, reason_code: "", reason_sentence };
}

it("cuts each device's line into what it did", () => {
  const lanes = lanesOf([
    event(0, "open", null),
    event(0, "asked", "a"),
    event(2, "training", "a"),
    event(8, "delivered", "a"),
    event(5, "asked", "b"),
    event(10, "dropped", "b", "it fell silent"),
  ]);
  expect(lanes).toEqual([
    {
      device: "a",
      name: "a",
      spans: [
        { state: "asked", from: 0, to: 0.2, sentence: "" },
        { state: "training", from: 0.2, to: 0.8, sentence: "" },
      ],
      last: "delivered",
      why: "",
    },
    {
      device: "b",
      name: "b",
      spans: [{ state: "asked", from: 0.5, to: 1, sentence: "" }],
      last: "dropped",
      why: "it fell silent",
    },
  ]);
});

it("has nothing to show before the first event", () => expect(lanesOf([])).toEqual([]));
