import { counted } from "../components/units";
import { t } from "../language/t";
import type { HelpingMatrix } from "./queries";

type Side = HelpingMatrix["helpers"][number];
export type Cell = HelpingMatrix["cells"][number];

/** How many transfers a cell has. */
export function totalOf({ kept, undone, open, failed }: Cell): number {
  return kept + undone + open + failed;
}

/** Cells by the places of their row and their column. */
export function byPlace(cells: readonly Cell[]): ReadonlyMap<string, Cell> {
  return new Map(cells.map((cell) => [placeOf(cell.helper, cell.target), cell]));
}

export function placeOf(helper: number, target: number): string {
  return `${helper} ${target}`;
}

const OUTCOMES = [
  ["kept", t`kept`],
  ["undone", t`undone`],
  ["open", t`open`],
  ["failed", t`failed`],
] as const;

/** A cell as a sentence: "kiosk-1 helped kiosk-2: 3 kept, 1 undone". */
export function sentenceOf(cell: Cell, { helpers, targets }: HelpingMatrix): string {
  const outcomes = OUTCOMES.filter(([outcome]) => cell[outcome] > 0)
    .map(([outcome, words]) => `${counted(cell[outcome])} ${words}`)
    .join(", ");
  const helper = nameOf(helpers[cell.helper]);
  const target = nameOf(targets[cell.target]);
  return t`${helper} helped ${target}: ${outcomes}`;
}

/** What a row or a column is called; of a group, with how many devices it has. */
export function nameOf(side: Side | undefined): string {
  if (side === undefined) return "";
  return side.device === null ? `${side.name} (${counted(side.devices)})` : side.name;
}

/** Where an arrow key leads from a cell: the next one in that direction that has a transfer, or where one is. */
export function moved(key: string, from: Cell, cells: readonly Cell[]): Cell | undefined {
  const along = (before: (cell: Cell) => number, beside: (cell: Cell) => number, way: 1 | -1) =>
    cells
      .filter((cell) => beside(cell) === beside(from) && way * (before(cell) - before(from)) > 0)
      .sort((one, other) => way * (before(one) - before(other)))[0] ?? from;
  const row = (cell: Cell) => cell.helper;
  const column = (cell: Cell) => cell.target;
  switch (key) {
    case "ArrowRight":
      return along(column, row, 1);
    case "ArrowLeft":
      return along(column, row, -1);
    case "ArrowDown":
      return along(row, column, 1);
    case "ArrowUp":
      return along(row, column, -1);
    default:
      return undefined;
  }
}
