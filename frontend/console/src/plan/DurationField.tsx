import { TextInput, type TextInputProps } from "@mantine/core";
import { useState } from "react";
import { inFull, secondsIn } from "./durations";

interface Props extends Omit<TextInputProps, "value" | "onChange"> {
  readonly value: unknown;
  /** Seconds; null: nothing stands there; a text: that is no duration. */
  readonly onChange: (value: number | string | null) => void;
}

/** A field for a duration as people write it, such as “24 h”; a number alone is seconds. */
export function DurationField({ value, onChange, ...more }: Props) {
  const [typed, type] = useState("");
  return (
    <TextInput
      {...more}
      value={read(typed) === (value ?? null) ? typed : typeof value === "number" ? inFull(value) : String(value ?? "")}
      onChange={({ currentTarget: { value: text } }) => {
        type(text);
        onChange(read(text));
      }}
      onBlur={() => type("")}
    />
  );
}

function read(text: string): number | string | null {
  return text.trim() === "" ? null : (secondsIn(text) ?? text);
}
