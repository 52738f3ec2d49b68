import { expect, it } from "vitest";
import { accuraciesOf } from "./accuracies";
import type { Version } from "./queries";

function version(second: number, role: string, lineage: string, accuracy?: number): Version {
  return { role, lineage, created_at: new Date(1000 * second).toISOString(), metrics: { accuracy } } as never;
}

it("has a line of its own for what devices measured", () => {
  const measured = { ...version(2, "device", "", 0.9), id: "v2" };
  const untold = { ...version(3, "device", ""), id: "v3" };
  const found = accuraciesOf(
    [measured, untold, version(4, "device", "", 0.92)],
    new Map([
      ["v2", 0.7],
      ["v3", 0.8],
    ]),
  );
  expect(found.times).toEqual([2, 3, 4]);
  expect(found.series).toEqual([
    { label: "device model", values: [0.9, null, 0.92] },
    { label: "device model, on devices", values: [0.7, 0.8, null] },
  ]);
});

it("gives each lineage a line over the times at which any version was made", () => {
  const found = accuraciesOf([
    version(1, "cloud", "", 0.97),
    version(2, "device", "", 0.9),
    version(3, "device", ""),
    version(4, "device", "", 0.92),
    version(5, "device", "night", 0.8),
  ]);
  expect(found.times).toEqual([1, 2, 4, 5]);
  expect(found.series).toEqual([
    { label: "device model", values: [null, 0.9, 0.92, null] },
    { label: "cloud model", values: [0.97, null, null, null] },
    { label: "device model of night", values: [null, null, null, 0.8] },
  ]);
});
