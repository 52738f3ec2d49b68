import { expect, it } from "vitest";
import { type Cell, moved, sentenceOf } from "./matrix";
import type { HelpingMatrix } from "./queries";

function cell(helper: number, target: number, kept = 1): Cell {
  return { helper, target, kept, undone: 2, open: 0, failed: 0 };
}

const CELLS = [cell(0, 0), cell(0, 3), cell(2, 0), cell(2, 2)];

it("says what became of the transfers of a cell", () => {
  const matrix = {
    helpers: [{ name: "kiosk-1", device: "a", devices: 1, transfers: 3 }],
    targets: [{ name: "others", device: null, devices: 40, transfers: 3 }],
  } as unknown as HelpingMatrix;
  expect(sentenceOf(cell(0, 0), matrix)).toBe("kiosk-1 helped others (40): 1 kept, 2 undone");
});

it("moves to the next cell that has a transfer, and stays at the edge", () => {
  const from = CELLS[0] as Cell;
  expect(moved("ArrowRight", from, CELLS)).toBe(CELLS[1]);
  expect(moved("ArrowDown", from, CELLS)).toBe(CELLS[2]);
  expect(moved("ArrowLeft", from, CELLS)).toBe(from);
  expect(moved("Enter", from, CELLS)).toBeUndefined();
});
