import type { Line } from "../components/SideBySide";
import { bytes, counted, duration, percent } from "../components/units";
import { t } from "../language/t";
import { inOrder, writtenOf } from "../models/figures";
import { type Federation, metric, type Round } from "./queries";

/** Figures of rounds, of the baseline first, as far as any has them. */
export function linesOfRounds(rounds: readonly Round[]): readonly Line[] {
  const measured = rounds.flatMap(({ metrics }) => Object.keys((metrics ?? {}) as Readonly<Record<string, unknown>>));
  const of = (name: string, read: (round: Round) => number | null, format: Line["format"]): Line => ({
    name,
    values: rounds.map(read),
    format,
  });
  const lines = [
    of(t`devices that were asked`, ({ devices }) => devices, counted),
    of(t`updates that came in`, ({ updates }) => updates, counted),
    of(t`took`, ({ duration_s }) => duration_s, duration),
    ...inOrder([...new Set(measured)].filter((name) => name !== "updates")).map((name) => {
      const { words, format } = writtenOf(name);
      return of(words, (round) => metric(round, name), format);
    }),
  ];
  return lines.filter(({ values }) => values.some((value) => value !== null));
}

export interface Lived {
  readonly federation: Federation;
  /** The newest, newest first. */
  readonly rounds: readonly Round[];
}

/** Figures of federations, of the baseline first, over the newest rounds of each. */
export function linesOfFederations(compared: readonly Lived[]): readonly Line[] {
  const of = (name: string, read: (lived: Lived) => number | null, format: Line["format"]): Line => ({
    name,
    values: compared.map(read),
    format,
  });
  const mean = (read: (round: Round) => number | null) => (lived: Lived) =>
    meanOf(published(lived).flatMap((round) => read(round) ?? []));
  const lines = [
    of(t`accuracy of the newest version`, (lived) => first(published(lived).map(accuracyOf)), percent),
    of(t`best accuracy`, (lived) => best(published(lived).flatMap((round) => accuracyOf(round) ?? [])), percent),
    of(t`devices`, ({ federation }) => federation.members, counted),
    of(t`rounds that are compared`, ({ rounds }) => ended(rounds).length, counted),
    of(t`of them published`, (lived) => shareOf(published(lived).length, ended(lived.rounds).length), percent),
    of(
      t`a round takes`,
      mean(({ duration_s }) => duration_s),
      duration,
    ),
    of(
      t`updates in a round`,
      mean(({ updates }) => updates),
      rounded,
    ),
    of(
      t`samples in a round`,
      mean((round) => metric(round, "samples")),
      rounded,
    ),
    of(
      t`uploaded in a round`,
      mean((round) => metric(round, "update_bytes")),
      bytes,
    ),
  ];
  return lines.filter(({ values }) => values.some((value) => value !== null));
}

/** What a round's version is judged by: the held-out data, or else the devices' own. */
export function accuracyOf(round: Round): number | null {
  return metric(round, "accuracy") ?? metric(round, "mean_accuracy");
}

function ended(rounds: readonly Round[]): readonly Round[] {
  return rounds.filter(({ finished_at }) => finished_at !== null);
}

function published({ rounds }: Lived): readonly Round[] {
  return rounds.filter(({ state }) => state === "published");
}

function first(values: readonly (number | null)[]): number | null {
  return values.find((value) => value !== null) ?? null;
}

function best(values: readonly number[]): number | null {
  return values.length === 0 ? null : Math.max(...values);
}

function shareOf(part: number, whole: number): number | null {
  return whole === 0 ? null : part / whole;
}

function meanOf(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A mean of counts, as a count. */
function rounded(many: number): string {
  return counted(Math.round(many));
}
