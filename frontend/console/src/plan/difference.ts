import { t } from "../language/t";
import { inFull } from "./durations";
import { kindWords, slotWords } from "./kinds";
import { labelOf } from "./schema";

/** One hyperparameter that differs: `local.learning_rate`. */
export interface Difference {
  readonly path: string;
  readonly before: unknown;
  readonly after: unknown;
}

/** Where two plans differ, by path, in alphabetical order. */
export function differences(before: unknown, after: unknown, path = ""): readonly Difference[] {
  if (isObject(before) && isObject(after)) {
    const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
    return names.flatMap((name) => differences(before[name], after[name], path === "" ? name : `${path}.${name}`));
  }
  return JSON.stringify(before) === JSON.stringify(after) ? [] : [{ path, before, after }];
}

/** What a path of a plan names, in words: "training on devices: learning rate", or the slot alone for its kind. */
export function pathWords(path: string): string {
  const [slot = "", ...names] = path.split(".");
  const within = names.filter((name) => name !== "kind").map(labelOf);
  return [slotWords(slot), ...within].join(": ");
}

/** A value of a plan in words; undefined: the plan has none there. */
export function valueWords(path: string, value: unknown): string {
  if (value === undefined) return "–";
  if (value === null) return t`none`;
  if (typeof value === "boolean") return value ? t`yes` : t`no`;
  const name = path.split(".").at(-1) ?? "";
  if (typeof value === "number") return name.endsWith("_s") ? inFull(value) : String(value);
  if (typeof value !== "string") return JSON.stringify(value);
  return name === "kind" ? kindWords(value) : value;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
