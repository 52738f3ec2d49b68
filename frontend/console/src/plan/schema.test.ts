import { describe, expect, it } from "vitest";
import { Definitions, misfit, type Schema, startOf } from "./schema";

const cartel: Schema = {
  $ref: "#/$defs/Cartel",
  $defs: {
    Cartel: {
      description: "Knowledge passes\n  between devices.",
      type: "object",
      properties: {
        kind: { enum: ["cartel"] },
        detector: { anyOf: [{ $ref: "#/$defs/Window" }], default: { kind: "window", limit: 0.2 } },
        portion: { enum: ["head", "learner"], default: "head" },
        tries: { type: "integer", minimum: 1, maximum: 9, default: 3 },
        hours: {
          anyOf: [{ type: "array", prefixItems: [{ type: "integer" }, { type: "integer" }] }, { type: "null" }],
          default: null,
        },
        share: { anyOf: [{ type: "number", exclusiveMinimum: 0 }, { type: "null" }], default: null },
        eager: { type: "boolean", default: true },
        phases: { type: "array", items: { $ref: "#/$defs/Phase" }, maxItems: 8, default: [] },
      },
    },
    Phase: { type: "object", properties: { share: { type: "number" } } },
    Window: { type: "object", properties: { kind: { enum: ["window"] }, limit: { type: "number" } } },
  },
};

describe("Definitions", () => {
  const definitions = new Definitions(cartel);
  const field = (name: string) => {
    const found = definitions.fields.find(([one]) => one === name);
    if (found === undefined) throw new Error(name);
    return definitions.fieldOf(found[1]);
  };

  it("draws each field as what it is", () => {
    expect(definitions.description).toBe("Knowledge passes between devices.");
    expect(field("detector")).toMatchObject({ as: "kind", kinds: { window: { type: "object" } } });
    expect(field("portion")).toEqual({ as: "choice", of: ["head", "learner"] });
    expect(field("tries")).toMatchObject({ as: "number", whole: true, optional: false });
    expect(field("share")).toMatchObject({ as: "number", whole: false, optional: true });
    expect(field("hours")).toMatchObject({ as: "pair", optional: true });
    expect(field("phases")).toMatchObject({ as: "rows", most: 8, row: { properties: { share: { type: "number" } } } });
    expect(field("eager")).toEqual({ as: "switch" });
  });

  it("starts a kind with its defaults", () => {
    expect(startOf("cartel", definitions.fields)).toEqual({
      kind: "cartel",
      detector: { kind: "window", limit: 0.2 },
      portion: "head",
      tries: 3,
      hours: null,
      share: null,
      eager: true,
      phases: [],
    });
  });
});

describe("misfit", () => {
  it.each([
    [3, { minimum: 1, maximum: 9 }, true, false, undefined],
    [0, { minimum: 1 }, true, false, "at least 1"],
    [10, { maximum: 9 }, true, false, "at most 9"],
    [0, { exclusiveMinimum: 0 }, false, false, "more than 0"],
    [1, { exclusiveMaximum: 1 }, false, false, "less than 1"],
    [1.5, {}, true, false, "needs a whole number"],
    ["", {}, false, false, "needs a number"],
    ["", {}, false, true, undefined],
  ])("%j in %j", (value, schema, whole, optional, sentence) => {
    expect(misfit(value, schema, whole, optional)).toBe(sentence);
  });
});
