import { numbers } from "../components/locale";
import { bytes, duration, percent } from "../components/units";
import { t } from "../language/t";
import type { Variant } from "./queries";

type Form = Variant["float32"];

const LOSS = numbers({ minimumSignificantDigits: 3, maximumSignificantDigits: 3 });

/** A form of a version in a row of words: what it is, its size, speed and accuracy. */
export interface FormRow {
  readonly name: string;
  readonly size: string;
  readonly speed: string;
  readonly accuracy: string;
  /** Why it is not offered; undefined: it is. */
  readonly refused: string | undefined;
}

/** The version itself, then each way in which a smaller form was tried. */
export function rowsOf(variant: Variant): readonly FormRow[] {
  return [
    rowOf("float32", variant.float32, undefined),
    ...variant.tried.map(({ method, measured, refused }) => {
      const other =
        method === variant.offered ? undefined : (refused?.sentence ?? t`another form is smaller or quicker`);
      return rowOf(`${variant.name}, ${method.replaceAll("_", " ")}`, measured, other);
    }),
  ];
}

function rowOf(name: string, form: Form | null, refused: string | undefined): FormRow {
  if (form === null) return { name, size: "–", speed: "–", accuracy: "–", refused };
  const [half, most] = [duration(form.p50_us / 1e6), duration(form.p99_us / 1e6)];
  const loss = LOSS.format(form.loss);
  return {
    name,
    size: bytes(form.size_bytes),
    speed: t`${half}, 99% within ${most}`,
    accuracy: form.accuracy === null ? t`loss ${loss}` : percent(form.accuracy),
    refused,
  };
}
