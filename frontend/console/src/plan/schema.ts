import { t } from "../language/t";
import { inFull } from "./durations";

/** The part of JSON Schema that kinds use: numbers with ranges, choices, switches, optional values, kinds within kinds. */
export interface Schema {
  readonly $ref?: string;
  readonly $defs?: Readonly<Record<string, Schema>>;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string;
  readonly enum?: readonly string[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly prefixItems?: readonly Schema[];
  readonly items?: Schema;
  readonly minimum?: number;
  readonly exclusiveMinimum?: number;
  readonly maxItems?: number;
  readonly maximum?: number;
  readonly exclusiveMaximum?: number;
  readonly default?: unknown;
}

export type Values = Readonly<Record<string, unknown>>;

export type Field =
  | { readonly as: "number"; readonly whole: boolean; readonly optional: boolean; readonly schema: Schema }
  | { readonly as: "duration"; readonly optional: boolean; readonly schema: Schema }
  | { readonly as: "choice"; readonly of: readonly string[] }
  | { readonly as: "switch" }
  | { readonly as: "pair"; readonly optional: boolean; readonly parts: readonly Schema[] }
  | { readonly as: "kind"; readonly kinds: Readonly<Record<string, Schema>> }
  | { readonly as: "rows"; readonly most: number; readonly row: Schema }
  | { readonly as: "list"; readonly of: "texts" | "numbers"; readonly optional: boolean }
  | { readonly as: "text" };

/** A schema whose top is the object itself, and that can find what it refers to. */
export class Definitions {
  constructor(private readonly root: Schema) {}

  resolve(schema: Schema): Schema {
    if (schema.$ref === undefined) return schema;
    const name = schema.$ref.replace("#/$defs/", "");
    const found = this.root.$defs?.[name];
    if (found === undefined) throw new Error(`the schema refers to ${schema.$ref}, which it does not define`);
    return found;
  }

  /** The fields of the object that the schema describes, without the name of its kind. */
  get fields(): readonly (readonly [string, Schema])[] {
    return fieldsOf(this.resolve(this.root));
  }

  get description(): string {
    return (this.resolve(this.root).description ?? "").replace(/\s+/g, " ");
  }

  fieldOf(schema: Schema): Field {
    const alternatives = (schema.anyOf ?? [schema]).map((one) => this.resolve(one));
    const optional = alternatives.some((one) => one.type === "null");
    const real = alternatives.filter((one) => one.type !== "null");
    const kinds = real.filter((one) => one.properties?.kind !== undefined);
    if (kinds.length > 0) return { as: "kind", kinds: Object.fromEntries(kinds.map((one) => [kindOf(one), one])) };
    const only = real[0];
    if (only?.enum !== undefined) return { as: "choice", of: only.enum };
    if (only?.type === "boolean") return { as: "switch" };
    if (only?.type === "number" || only?.type === "integer") {
      return { as: "number", whole: only.type === "integer", optional, schema: only };
    }
    if (only?.prefixItems?.length === 2) return { as: "pair", optional, parts: only.prefixItems };
    if (only?.type === "array" && only.items !== undefined) {
      const item = this.resolve(only.items);
      if (item.type === "object") return { as: "rows", most: only.maxItems ?? Number.POSITIVE_INFINITY, row: item };
      return { as: "list", of: item.type === "number" ? "numbers" : "texts", optional };
    }
    return { as: "text" };
  }
}

export function fieldsOf(schema: Schema): readonly (readonly [string, Schema])[] {
  return Object.entries(schema.properties ?? {}).filter(([name]) => name !== "kind");
}

const IN_SECONDS = /_s$/;

/** What a field of that name is drawn as: numbers of seconds are durations. */
export function drawnAs(name: string, field: Field): Field {
  if (field.as !== "number" || !IN_SECONDS.test(name)) return field;
  return { as: "duration", optional: field.optional, schema: field.schema };
}

/** A field's name as people read it; its description tells the unit. */
export function labelOf(name: string): string {
  return name.replace(IN_SECONDS, "").replaceAll("_", " ");
}

export function kindOf(schema: Schema): string {
  return schema.properties?.kind?.enum?.[0] ?? "";
}

/** A kind with the defaults of all of its fields. */
export function startOf(kind: string, fields: readonly (readonly [string, Schema])[]): Values {
  return { kind, ...defaultsOf(fields) };
}

export function defaultsOf(fields: readonly (readonly [string, Schema])[]): Values {
  return Object.fromEntries(fields.map(([name, schema]) => [name, schema.default ?? null]));
}

/** What is wrong with a number, as a sentence; undefined: nothing is. */
export function misfit(value: unknown, schema: Schema, whole: boolean, optional: boolean): string | undefined {
  if (value === null || value === "" || value === undefined) return optional ? undefined : t`needs a number`;
  if (typeof value !== "number" || Number.isNaN(value)) return t`needs a number`;
  if (whole && !Number.isInteger(value)) return t`needs a whole number`;
  return beyond(value, schema, String);
}

/** The same of a duration in seconds. */
export function misfitDuration(value: unknown, schema: Schema, optional: boolean): string | undefined {
  if (value === null || value === undefined) return optional ? undefined : t`needs a duration, such as 24 h`;
  if (typeof value !== "number") return t`needs a duration, such as 24 h`;
  return beyond(value, schema, inFull);
}

function beyond(value: number, schema: Schema, write: (value: number) => string): string | undefined {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum } = schema;
  if (minimum !== undefined && value < minimum) return t`at least ${write(minimum)}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return t`more than ${write(exclusiveMinimum)}`;
  if (maximum !== undefined && value > maximum) return t`at most ${write(maximum)}`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return t`less than ${write(exclusiveMaximum)}`;
  return undefined;
}
