import { t } from "../language/t";
import type { Version } from "./queries";

type Origin = NonNullable<Version["origin"]>;

const WORDS: Readonly<Record<Origin, string>> = {
  bootstrap: t`bootstrap`,
  upload: t`upload`,
  distillation: t`distillation`,
  merge: t`merge`,
  split: t`split`,
  copy: t`copy`,
  rebuild: t`rebuilt without a forgotten device`,
};

/** What made a version, in words. */
export function cameOf(origin: Origin): string {
  return WORDS[origin];
}
