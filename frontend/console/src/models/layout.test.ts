import { expect, it } from "vitest";
import { placesOf } from "./layout";
import type { Version } from "./queries";

function version(id: string, role: Version["role"], lineage = ""): Version {
  return { id, role, lineage, number: 1 } as Version;
}

it("gives each model and group a line, and puts what came of something to its right", () => {
  const places = placesOf({
    count: 4,
    versions: [
      version("c1", "cloud"),
      version("d1", "device"),
      version("d2", "device"),
      version("g1", "device", "night"),
    ],
    edges: [
      { from_version: "c1", to_version: "d1", origin: "distillation" },
      { from_version: "d1", to_version: "d2", origin: "merge" },
      { from_version: "d2", to_version: "g1", origin: "split" },
    ] as never,
  });
  const at = Object.fromEntries(places.map(({ version: { id }, x, y }) => [id, [x / 190, y / 96]]));
  expect(at).toEqual({ c1: [0, 0], d1: [1, 1], d2: [2, 1], g1: [3, 2] });
});
