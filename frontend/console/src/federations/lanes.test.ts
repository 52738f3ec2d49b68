import { expect, it } from "vitest";
import { replayOf } from "./lanes";
import type { RoundEvent } from "./queries";

function event(second: number, kind: RoundEvent["kind"], device: string | null, reason_sentence = ""): RoundEvent {
  const at = new Date(second * 1000).toISOString();
  return { id: second, at, kind, device, device_name: device, reason_code: "", reason_sentence };
}

it("cuts each device's line into what it did", () => {
  const { from, to, lanes } = replayOf([
    event(0, "open", null),
    event(0, "asked", "a"),
    event(2, "training", "a"),
    event(8, "delivered", "a"),
    event(5, "asked", "b"),
    event(10, "dropped", "b", "it fell silent"),
  ]);
  expect([from, to]).toEqual([0, 10]);
  expect(lanes).toEqual([
    { device: "", name: "the round", spans: [{ state: "open", from: 0, to: 10, sentence: "" }], last: "open", why: "" },
    {
      device: "a",
      name: "a",
      spans: [
        { state: "asked", from: 0, to: 2, sentence: "" },
        { state: "training", from: 2, to: 8, sentence: "" },
      ],
      last: "delivered",
      why: "",
    },
    {
      device: "b",
      name: "b",
      spans: [{ state: "asked", from: 5, to: 10, sentence: "" }],
      last: "dropped",
      why: "it fell silent",
    },
  ]);
});

it("has nothing to show before the first event", () => expect(replayOf([]).lanes).toEqual([]));
