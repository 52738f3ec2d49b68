import { t } from "../language/t";
import type { Job, JobKind } from "./queries";

/** What people call the kinds of jobs. */
const WORDS: Readonly<Record<JobKind, string>> = {
  preflight: t`Pre-flight`,
  bootstrap: t`Bootstrap`,
  distill: t`Distillation`,
  quantise: t`Quantisation`,
  simulation: t`Simulation`,
};

/** The word for a kind of job. */
export function kindWord(kind: JobKind): string {
  return WORDS[kind];
}

/** The kinds as a field offers them. */
export const KIND_CHOICES = (Object.keys(WORDS) as JobKind[]).map((value) => ({ value, label: WORDS[value] }));

/** A job in a few words. */
export function jobWords({ kind, pair_name: pair }: Job): string {
  return t`${WORDS[kind]} of ${pair}`;
}
