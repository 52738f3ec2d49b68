import { NumberInput, type NumberInputProps } from "@mantine/core";
import { useState } from "react";

interface Props extends Omit<NumberInputProps, "value" | "onChange"> {
  readonly value: unknown;
  /** null: nothing that is a number stands there. */
  readonly onChange: (value: number | null) => void;
}

/** A field for a number; what one has typed so far, such as “0.”, stays as it is typed. */
export function NumberField({ value, onChange, ...more }: Props) {
  const [typed, type] = useState("");
  const number = typeof value === "number" ? value : null;
  return (
    <NumberInput
      {...more}
      clampBehavior="none"
      value={numberIn(typed) === number ? typed : (number ?? "")}
      onChange={(next) => {
        const text = String(next);
        type(text);
        // Leaving the field writes the same number anew, while a button may be being pressed.
        if (numberIn(text) !== number) onChange(numberIn(text));
      }}
    />
  );
}

function numberIn(text: string): number | null {
  const number = text === "" ? Number.NaN : Number(text);
  return Number.isNaN(number) ? null : number;
}
