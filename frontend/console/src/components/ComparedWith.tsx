import { MultiSelect, type MultiSelectProps } from "@mantine/core";
import { MOST_COMPARED } from "./mostCompared";

interface Props extends Omit<MultiSelectProps, "value"> {
  readonly value: readonly string[];
}

/** Chooses what stands beside a baseline. */
export function ComparedWith({ value, ...more }: Props) {
  return (
    <MultiSelect
      label="Compared with it"
      placeholder={value.length === 0 ? "Choose others" : ""}
      searchable
      clearable
      maxValues={MOST_COMPARED}
      value={[...value]}
      {...more}
    />
  );
}
