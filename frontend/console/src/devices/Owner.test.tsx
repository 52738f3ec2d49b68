import { screen } from "@testing-library/react";
import { expect, it } from "vitest";
import { answers } from "../testing/mock";
import { show, signedIn } from "../testing/show";
import { Owner } from "./Owner";
import type { Device, Forgetting } from "./queries";

const DEVICE = { id: "7f0d1c5e-0000-4000-8000-000000000001", name: "kitchen-1" } as unknown as Device;
const FORGETTING: Forgetting = {
  receipt: "3f0c9a52-6d5e-4b43-9a5e-6f1f8a9f0a11",
  done: false,
  sentence: "models are made again without it",
  asked_at: "2026-01-01T12:00:00Z",
  done_at: null,
  device: DEVICE.id,
  taken_out: 1,
  removed: { updates: 3 },
  holds: [],
  versions: 0,
  rebuilt: [
    {
      federation: "digits",
      done: true,
      sentence: "version 7 holds no update of the device",
      version: 7,
      repeated: 4,
      retired: 4,
      elsewhere: 0,
      done_at: "2026-01-02T12:00:00Z",
    },
    {
      federation: "words",
      done: false,
      sentence: "2 of 4 merges are repeated",
      version: 0,
      repeated: 2,
      retired: 0,
      elsewhere: 0,
      done_at: null,
    },
  ],
};

it("says of a device that was forgotten since when each part is done", async () => {
  signedIn();
  answers("get", "/api/devices/{id}/forgetting/", { forgetting: FORGETTING });
  await show(<Owner device={DEVICE} />);
  expect(await screen.findByText("Being forgotten")).toBeDefined();
  expect(screen.getAllByText(/^Done/).map((line) => line.querySelector("time")?.dateTime)).toEqual([
    "2026-01-02T12:00:00Z",
  ]);
});

it("says since when all of it is done", async () => {
  signedIn();
  answers("get", "/api/devices/{id}/forgetting/", {
    forgetting: { ...FORGETTING, done: true, rebuilt: [], done_at: "2026-01-03T12:00:00Z" },
  });
  await show(<Owner device={DEVICE} />);
  expect(await screen.findByText("Forgotten")).toBeDefined();
  expect(screen.getByText(/^Done/).querySelector("time")?.dateTime).toBe("2026-01-03T12:00:00Z");
});
