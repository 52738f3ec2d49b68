import { expect, test } from "vitest";
import { speedOf } from "./Curve";

const AT = "2026-01-01T00:00:00Z";

test("the newest epoch tells how fast it was, and what communication took where there is any", () => {
  expect(speedOf({ epoch: 3, at: AT, values: { samples_per_second: 5432, workers: 1, communication_share: 0 } })).toBe(
    "Epoch 3: 5,430 samples a second, by one process.",
  );
  expect(
    speedOf({
      epoch: 4,
      at: AT,
      values: { samples_per_second: 900, workers: 4, communication_share: 0.25, sent_bytes: 48_000 },
    }),
  ).toBe("Epoch 4: 900 samples a second, by 4 workers; communication took 25%, and each sent 48.0 kB.");
});
