import type { Pair } from "./queries";

/** What a model would take of a kind of device. */
export interface Estimate {
  readonly device: string;
  readonly memory_bytes: number;
  readonly fits: boolean;
  readonly step_s: number;
}

/** What the pre-flight tells of a pair that it accepts: `coterie.compile.pair_report`. */
export interface Report {
  readonly device_parameters: number;
  readonly cloud_parameters: number | null;
  readonly teacher_problem: string | null;
  readonly operators: Readonly<Record<string, number>>;
  readonly train_step_bytes: number;
  readonly predict_bytes: number;
  readonly parameters_bytes: number;
  readonly frozen_bytes: number;
  readonly step_s: number;
  readonly step_memory_bytes: number;
  readonly process_memory_bytes: number;
  readonly devices: readonly Estimate[];
}

/** The report of a pair; undefined where it was not checked, or by a release that told less. */
export function reportOf(pair: Pair): Report | undefined {
  const report = pair.report as Partial<Report> | null | undefined;
  return report?.devices === undefined || report.operators === undefined ? undefined : (report as Report);
}
