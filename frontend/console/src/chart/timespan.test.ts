import { expect, it } from "vitest";
import { Timespan, within } from "./timespan";

it("reaches over all charts of the page, and shrinks when one goes", () => {
  const time = new Timespan();
  const end = time.cover("accuracy", { from: 10, to: 20 });
  time.cover("traffic", { from: 15, to: 40 });
  expect(time.whole.get()).toEqual({ from: 10, to: 40 });
  end();
  expect(time.whole.get()).toEqual({ from: 15, to: 40 });
});

it("zooms around what is pointed at, never beyond what there is, and back", () => {
  const time = new Timespan();
  time.cover("accuracy", { from: 0, to: 100 });
  time.pointed.set(25);
  time.zoom(0.5);
  expect(time.chosen.get()).toEqual({ from: 12.5, to: 62.5 });
  time.zoom(2);
  expect(time.chosen.get()).toBeNull();
  time.show({ from: 90, to: 500 });
  expect(time.chosen.get()).toEqual({ from: 90, to: 100 });
  time.show(null);
  expect(time.chosen.get()).toBeNull();
});

it("shows all where a part would be next to nothing", () => {
  expect(within({ from: 5, to: 5.2 }, { from: 0, to: 10 })).toBeNull();
  expect(within({ from: 50, to: 60 }, { from: 0, to: 10 })).toBeNull();
});
