import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { type CSSProperties, type KeyboardEvent, type RefObject, useMemo, useRef, useState } from "react";
import { counted } from "../components/units";
import { t } from "../language/t";
import classes from "./Matrix.module.css";
import { byPlace, type Cell, moved, nameOf, placeOf, sentenceOf, totalOf } from "./matrix";
import type { HelpingMatrix } from "./queries";

/** How strongly cells are coloured; the page's ink is read on the strongest in both themes. */
const FAINTEST = 0.1;
const STRONGEST = 0.55;

/** Who helped whom: a row for each helper, a column for each that was helped; the arrow keys go from cell to cell. */
export function Matrix({ of }: { of: HelpingMatrix }) {
  const cells = useMemo(() => byPlace(of.cells), [of]);
  const most = useMemo(() => Math.max(1, ...of.cells.map(totalOf)), [of]);
  const [chosen, setChosen] = useState<Cell>();
  const table = useRef<HTMLTableElement>(null);
  const entered = chosen ?? of.cells[0];
  const said = chosen === undefined ? t`Choose a cell to read what became of its transfers.` : sentenceOf(chosen, of);
  return (
    <>
      <Text size="xs" c="var(--quiet)" mb={4}>
        {of.by === "tags" ? "Groups of devices with the same tags, and how many they are. " : ""}
        Helpers are rows; those that they helped are columns; figures are transfers.
      </Text>
      <div className={classes.frame}>
        {/* biome-ignore lint/a11y/noNoninteractiveElementToInteractiveRole: arrow keys go from cell to cell */}
        <table ref={table} role="grid" className={classes.matrix} aria-label="Who helped whom">
          <thead>
            <tr>
              <td />
              <td />
              {of.targets.map((side) => (
                <th key={keyOf(side)} scope="col" className={classes.column} title={nameOf(side)}>
                  <Name of={side} />
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {of.helpers.map((side, helper) => (
              <tr key={keyOf(side)}>
                <th scope="row" className={classes.row} title={nameOf(side)}>
                  <Name of={side} />
                </th>
                <td className={classes.total}>{counted(side.transfers)}</td>
                {of.targets.map((column, target) => {
                  const cell = cells.get(placeOf(helper, target));
                  return (
                    <td key={keyOf(column)} className={classes.cell}>
                      {cell !== undefined && (
                        <Transfers
                          cell={cell}
                          share={totalOf(cell) / most}
                          says={sentenceOf(cell, of)}
                          pressed={cell === chosen}
                          entered={cell === entered}
                          onChoose={() => setChosen(cell)}
                          onKeyDown={(event) => {
                            const next = moved(event.key, cell, of.cells);
                            if (next === undefined) return;
                            event.preventDefault();
                            setChosen(next);
                            focus(table, next);
                          }}
                        />
                      )}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Text size="sm" mt="xs" role="status">
        {said}
      </Text>
    </>
  );
}

interface TransfersProps {
  readonly cell: Cell;
  /** Of the greatest number in any cell. */
  readonly share: number;
  readonly says: string;
  readonly pressed: boolean;
  /** Whether Tab leads to it. */
  readonly entered: boolean;
  readonly onChoose: () => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function Transfers({ cell, share, says, pressed, entered, onChoose, onKeyDown }: TransfersProps) {
  const strength = FAINTEST + (STRONGEST - FAINTEST) * Math.sqrt(share);
  return (
    <button
      type="button"
      className={classes.button}
      style={{ "--strength": strength } as CSSProperties}
      data-place={placeOf(cell.helper, cell.target)}
      title={says}
      aria-label={says}
      aria-pressed={pressed}
      tabIndex={entered ? 0 : -1}
      onClick={onChoose}
      onKeyDown={onKeyDown}
    >
      {counted(totalOf(cell))}
    </button>
  );
}

function Name({ of }: { of: HelpingMatrix["helpers"][number] }) {
  if (of.device === null) return <span>{nameOf(of)}</span>;
  return (
    <Anchor component={Link} to={`/devices/${of.device}`} size="xs" c="inherit" underline="hover">
      {of.name}
    </Anchor>
  );
}

function keyOf({ device, name }: HelpingMatrix["helpers"][number]): string {
  return device ?? name;
}

function focus(table: RefObject<HTMLTableElement | null>, { helper, target }: Cell): void {
  table.current?.querySelector<HTMLElement>(`[data-place="${placeOf(helper, target)}"]`)?.focus();
}
