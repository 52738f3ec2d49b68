/** Reads samples from a CSV or JSON lines file, as `coterie-agent ingest` does: all of them, or none and the first fault. */
import * as v from "valibot";
import type { Sample } from "../learning/batches";
import { CodedError } from "../wire/errors";

const MAX_FILE_BYTES = 64 << 20;
const MAX_CLASSES = 1_000_000;
type Row = Omit<Sample, "id">;

const JsonRow = v.strictObject({
  x: v.pipe(v.array(v.number()), v.minLength(1)),
  y: v.optional(v.union([v.number(), v.array(v.number())])),
});

/** What a file holds. */
export interface Read {
  readonly labelled: readonly Row[];
  /** Features of samples without a label, of which the owner may be asked. */
  readonly unlabelled: readonly Float32Array[];
}

/** What samples must be. */
export interface Fitting {
  /** Of samples that are there already; null: the first row tells. */
  readonly features: number | null;
  /** How many classes the model tells apart; 0: that is not known. */
  readonly classes: number;
}

/** The samples of the file `name`, by its ending: .csv, .jsonl or .ndjson. Throws CodedError `ingest.*`. */
export async function readSamples(name: string, file: Blob, { features, classes }: Fitting): Promise<Read> {
  if (file.size > MAX_FILE_BYTES) throw fault("ingest.too_large", `${name} has more than ${MAX_FILE_BYTES >> 20} MiB`);
  const ending = name.toLowerCase().split(".").at(-1);
  const text = (await file.text()).replace(/^\uFEFF/, "");
  const check = new RowCheck(features, classes || MAX_CLASSES);
  if (ending === "csv") return divided(readCsv(name, text, check));
  if (ending === "jsonl" || ending === "ndjson") return divided(readJsonLines(name, text, check));
  throw fault("ingest.unknown_format", `${name}: the ending must be one of .csv, .jsonl, .ndjson`);
}

const divided = (rows: readonly (Row | Float32Array)[]): Read => ({
  labelled: rows.filter((row): row is Row => !(row instanceof Float32Array)),
  unlabelled: rows.filter((row): row is Float32Array => row instanceof Float32Array),
});

/**
 * A header, then one sample a line: the column "label", which may be blank, or those that begin with "target", and the
 * features.
 */
function readCsv(name: string, text: string, check: RowCheck): (Row | Float32Array)[] {
  const lines = text.split(/\r?\n/);
  const header = (lines[0] ?? "").split(",").map((column) => column.trim().replace(/^"(.*)"$/, "$1"));
  const label = header.indexOf("label");
  const targets = label >= 0 ? [] : header.flatMap((column, at) => (column.startsWith("target") ? [at] : []));
  if (label < 0 && targets.length === 0) {
    const detail = "the first line must name the columns, one of them label, or some that begin with target";
    throw fault("ingest.no_label", `${name}: ${detail}`);
  }
  const features = header.flatMap((_, at) => (at === label || targets.includes(at) ? [] : [at]));
  return lines.slice(1).flatMap((line, index): (Row | Float32Array)[] => {
    if (line.trim() === "") return [];
    const where = `${name}, line ${index + 2}`;
    const fields = line.split(",");
    if (fields.length !== header.length) {
      throw fault("ingest.wrong_width", `${where}: ${fields.length} columns, the header has ${header.length}`);
    }
    const at = (place: number): number => numberOf(where, fields[place] as string);
    if (label >= 0 && (fields[label] as string).trim() === "") return [check.features(where, features.map(at))];
    return [check.row(where, features.map(at), label >= 0 ? at(label) : targets.map(at))];
  });
}

/** One object a line: `{"x": [0.1, ...], "y": 3}`, or without `y`; blank lines are skipped. */
function readJsonLines(name: string, text: string, check: RowCheck): (Row | Float32Array)[] {
  return text.split("\n").flatMap((line, index): (Row | Float32Array)[] => {
    if (line.trim() === "") return [];
    const where = `${name}, line ${index + 1}`;
    let value: unknown;
    try {
      value = JSON.parse(line);
    } catch (error) {
      throw fault("ingest.malformed", `${where}: ${(error as Error).message}`);
    }
    const row = v.safeParse(JsonRow, value);
    if (!row.success) throw fault("ingest.malformed", `${where}: ${row.issues[0].message}`);
    const { x, y } = row.output;
    return [y === undefined ? check.features(where, x) : check.row(where, x, y)];
  });
}

class RowCheck {
  private targets: number | null = null;

  constructor(
    private width: number | null,
    private readonly classes: number,
  ) {}

  features(where: string, x: readonly number[]): Float32Array {
    this.width ??= x.length;
    if (x.length !== this.width) {
      throw fault("ingest.wrong_width", `${where}: ${x.length} features, expected ${this.width}`);
    }
    const features = Float32Array.from(x);
    if (!features.every(Number.isFinite)) throw fault("ingest.not_a_number", `${where}: a number is not finite`);
    return features;
  }

  row(where: string, x: readonly number[], y: number | readonly number[]): Row {
    const features = this.features(where, x);
    const target = typeof y === "number" ? new Float32Array() : Float32Array.from(y);
    this.targets ??= target.length;
    if (target.length !== this.targets) {
      throw fault("ingest.bad_label", `${where}: a target of ${target.length} numbers, expected ${this.targets}`);
    }
    if (typeof y !== "number") return { x: features, label: -1, target };
    if (!Number.isInteger(y) || y < 0 || y >= this.classes) {
      const expected = `a whole number, 0 to ${this.classes - 1}`;
      throw fault("ingest.bad_label", `${where}: the label is ${y}, expected ${expected}`);
    }
    return { x: features, label: y, target };
  }
}

function numberOf(where: string, text: string): number {
  const number = text.trim() === "" ? Number.NaN : Number(text);
  if (Number.isNaN(number)) throw fault("ingest.not_a_number", `${where}: ${JSON.stringify(text)} is not a number`);
  return number;
}

const fault = (code: string, detail: string): CodedError => new CodedError(code, detail);
