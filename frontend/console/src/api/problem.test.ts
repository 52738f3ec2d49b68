import { describe, expect, it } from "vitest";
import { problemOf } from "./problem";

describe("problemOf", () => {
  it("keeps the platform's code, sentence and fields", () => {
    const problem = problemOf(404, {
      code: "fleet.unknown_device",
      detail: "No such device.",
      fields: { device: "7" },
    });
    expect(problem).toMatchObject({ code: "fleet.unknown_device", status: 404, message: "No such device." });
    expect(problem.fields).toEqual({ device: "7" });
  });

  it.each([null, "<html>", {}, { code: 7 }])("has a code of its own for a body that states none: %j", (body) => {
    expect(problemOf(502, body)).toMatchObject({ code: "http.unexpected", status: 502 });
  });
});
