import { expect, it } from "vitest";
import { choicesIn, type DaySpeed, linesOf, speedSearch } from "./speedHistory";

const told = (day: string, number: number, facts: Partial<DaySpeed> = {}) =>
  ({
    day,
    number,
    classes: 2,
    work: "predict",
    form: "float32",
    charging: "yes",
    devices: 2,
    p50_s: number / 1000,
    p99_s: number / 100,
    ...facts,
  }) as DaySpeed;

const ROWS = [
  told("2026-01-03", 1),
  told("2026-01-03", 2),
  told("2026-01-03", 2, { form: "int8", p50_s: 0.0005 }),
  told("2026-01-03", 1, { work: "step", charging: "no" }),
  told("2026-01-01", 2),
  told("2026-01-01", 1, { charging: "no", devices: 1 }),
];

it("draws a line for each class and variant, with a gap where nothing was told", () => {
  const { times, series } = linesOf(ROWS, {});
  expect(times).toEqual([Date.UTC(2026, 0, 1) / 1000, Date.UTC(2026, 0, 3) / 1000]);
  expect(series.map(({ label, values }) => [label, values])).toEqual([
    ["The quickest, float32", [null, 0.001]],
    ["The slowest, float32", [0.002, 0.002]],
    ["The slowest, int8", [null, 0.0005]],
  ]);
});

it("keeps the colour of a line when others are filtered away", () => {
  const hues = new Map(linesOf(ROWS, {}).series.map(({ label, hue }) => [label, hue]));
  for (const chosen of [{ number: 2 }, { form: "int8" }, { number: 2, form: "int8" }]) {
    const { series } = linesOf(ROWS, chosen);
    expect(series.length).toBeGreaterThan(0);
    for (const { label, hue } of series) expect(hue).toBe(hues.get(label));
  }
});

it("draws the figure, the work and the condition that are chosen", () => {
  expect(linesOf(ROWS, { figure: "p99_s", number: 1 }).series[0]?.values).toEqual([0.01]);
  expect(linesOf(ROWS, { work: "step" }).series.map(({ label }) => label)).toEqual(["The quickest, float32"]);
  expect(linesOf(ROWS, { charging: "no" }).times).toHaveLength(1);
  expect(linesOf(ROWS, { form: "pruned" })).toEqual({ times: [], series: [] });
});

it("chooses predictions in the condition that most devices measured, and train steps where there is no prediction", () => {
  expect(choicesIn(ROWS, {})).toMatchObject({ work: "predict", charging: "yes", forms: ["float32", "int8"] });
  expect(
    choicesIn(
      ROWS.filter(({ work }) => work === "step"),
      {},
    ),
  ).toMatchObject({ work: "step", charging: "no" });
});

it("takes from an address what it knows, and nothing else", () => {
  expect(speedSearch({ work: "step", figure: "p99_s", number: 2, colour: "red" })).toEqual({
    speed: { work: "step", figure: "p99_s", number: 2 },
  });
  expect(speedSearch({ work: "dream", charging: 3 })).toEqual({});
  expect(speedSearch("work")).toEqual({});
});
