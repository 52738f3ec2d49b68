import { expect, it, vi } from "vitest";
import { actionOf, nearest } from "./Chart";

const PLACES = [0, 10, 30];

it("finds the nearest place", () => {
  expect([-5, 4, 6, 21, 99].map((x) => nearest(PLACES, x))).toEqual([0, 0, 1, 2, 2]);
});

it("points by the arrows, from where it is, and not beyond the ends", () => {
  const keyed = (key: string, at: number | null) => actionOf(key, { places: PLACES, at, zoom: undefined });
  expect(keyed("ArrowRight", null)).toBe(0);
  expect(keyed("ArrowRight", 11)).toBe(30);
  expect(keyed("ArrowRight", 30)).toBe(30);
  expect(keyed("ArrowLeft", null)).toBe(30);
  expect(keyed("End", 0)).toBe(30);
  expect(keyed("Tab", 0)).toBeUndefined();
});

it("zooms by keys, and leaves Escape alone where everything is shown", () => {
  const zoom = { choose: vi.fn(), by: vi.fn(), reset: vi.fn(), zoomed: false };
  const keyed = (key: string, zoomed: boolean) => actionOf(key, { places: PLACES, at: 10, zoom: { ...zoom, zoomed } });
  (keyed("+", false) as () => void)();
  expect(zoom.by).toHaveBeenCalledWith(0.5);
  expect(keyed("Escape", false)).toBeUndefined();
  (keyed("Escape", true) as () => void)();
  expect(zoom.reset).toHaveBeenCalledOnce();
});
