import { describe, expect, it } from "vitest";
import type { Variant } from "./queries";
import { rowsOf } from "./variants";

const FORM = { size_bytes: 1_168_311, accuracy: 0.9816, loss: 0.078, p50_us: 190.3, p90_us: 210, p99_us: 300 };
const VARIANT: Variant = {
  id: 1,
  version: "v",
  name: "int8",
  graph: "ab",
  graph_bytes: 300_369,
  reason_code: "",
  reason_sentence: "",
  samples: 598,
  calibration: 199,
  offered: "static_minmax",
  float32: FORM,
  tried: [
    {
      method: "static_minmax",
      measured: { ...FORM, size_bytes: 300_369, accuracy: 0.9799 },
      loss_points: 0.17,
      refused: null,
    },
    { method: "static_percentile", measured: FORM, loss_points: 0, refused: null },
    { method: "dynamic", measured: null, loss_points: null, refused: { code: "x", sentence: "it does not run: why" } },
  ],
  made_at: "2026-01-01T12:00:00Z",
};

describe("the forms of a version", () => {
  it("are float32 and each that was tried, with why it is not the one that is offered", () => {
    const rows = rowsOf(VARIANT);
    expect(rows.map(({ name }) => name)).toEqual([
      "float32",
      "int8, static minmax",
      "int8, static percentile",
      "int8, dynamic",
    ]);
    expect(rows.map(({ refused }) => refused)).toEqual([
      undefined,
      undefined,
      "another form is smaller or quicker",
      "it does not run: why",
    ]);
    expect(rows[3]?.size).toBe("–");
  });

  it("tell the loss where the task has no accuracy", () => {
    const [row] = rowsOf({ ...VARIANT, float32: { ...FORM, accuracy: null } });
    expect(row?.accuracy).toBe("loss 0.0780");
  });
});
