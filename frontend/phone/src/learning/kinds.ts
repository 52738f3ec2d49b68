/** One choice of a plan: a kind's name and hyperparameters, read strictly. */
import * as v from "valibot";
import { CodedError } from "../wire/errors";
import { checked } from "../wire/messages";

/** What makes a kind from `{"kind": name, ...hyperparameters}`. */
export interface KindOf<T> {
  readonly name: string;
  /** Throws CodedError `plan.invalid`. */
  parse(raw: Readonly<Record<string, unknown>>): T;
}

/** A kind whose hyperparameters have the `schema`, an unknown one is refused; `make` gives it its functions. */
export function kind<S extends v.ObjectEntries, T>(
  slot: string,
  name: string,
  fields: S,
  make: (given: v.InferOutput<v.StrictObjectSchema<S, undefined>>) => T,
): KindOf<T> {
  const schema = v.strictObject(fields);
  return { name, parse: (raw) => make(checked(schema, raw, "plan.invalid", `slot ${slot}, kind ${name}`)) };
}

/** The kinds of one slot that this side has. */
export class Registry<T> {
  private readonly kinds: ReadonlyMap<string, KindOf<T>>;

  constructor(
    readonly slot: string,
    kinds: readonly KindOf<T>[],
  ) {
    this.kinds = new Map(kinds.map((one) => [one.name, one]));
  }

  get names(): string[] {
    return [...this.kinds.keys()].sort();
  }

  /** Throws CodedError `plan.unknown_kind` or `plan.invalid`. */
  parse(raw: unknown): T {
    const { kind: name, ...fields } = checked(
      v.looseObject({ kind: v.string() }),
      raw,
      "plan.unknown_kind",
      `slot ${this.slot}`,
    );
    const found = this.kinds.get(name);
    if (found === undefined) {
      const known = this.names.join(", ");
      throw new CodedError(
        "plan.unknown_kind",
        `slot ${this.slot} has no kind ${name} on this device; it knows ${known}`,
      );
    }
    return found.parse(fields);
  }
}

/** A number of a plan within bounds, which may be the lowest and the greatest. */
export const within = (least: number, most: number) => v.pipe(v.number(), v.minValue(least), v.maxValue(most));

/** A number of a plan above 0. */
export const positive = (most: number) => v.pipe(v.number(), v.gtValue(0), v.maxValue(most));
