import { Code, Group, Select } from "@mantine/core";
import { kindWords } from "./kinds";

interface Props {
  /** Either of the two says what is chosen. */
  readonly label?: string;
  readonly "aria-label"?: string;
  readonly description?: string | undefined;
  /** The codes of those that there are. */
  readonly kinds: readonly string[];
  readonly value: string;
  readonly onChange: (kind: string) => void;
}

/** One of several kinds, each by its words, with the code that a plan has behind them. */
export function KindSelect({ kinds, onChange, ...field }: Props) {
  return (
    <Select
      {...field}
      data={kinds.map((value) => ({ value, label: kindWords(value) }))}
      renderOption={({ option: { value, label } }) => (
        <Group justify="space-between" wrap="nowrap" w="100%">
          {label}
          {label !== value && <Code>{value}</Code>}
        </Group>
      )}
      title={field.value}
      allowDeselect={false}
      maw={420}
      onChange={(kind) => kind !== null && onChange(kind)}
    />
  );
}
