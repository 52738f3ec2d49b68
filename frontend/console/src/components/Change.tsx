import { Text, VisuallyHidden } from "@mantine/core";
import { signed } from "./units";

interface Props {
  /** Null: there is nothing to compare with. */
  readonly value: number | null | undefined;
  readonly format: (value: number) => string;
  /** What it is compared with, for those who hear the page. */
  readonly against: string;
}

/** By how much a figure is other than before, beside it; nothing where it is not. */
export function Change({ value, format, against }: Props) {
  if (value === null || value === undefined || format(Math.abs(value)) === format(0)) return null;
  return (
    <Text component="span" size="xs" c="var(--quiet)" ml={6} style={{ whiteSpace: "nowrap" }}>
      {signed(value, format)}
      <VisuallyHidden> {against}</VisuallyHidden>
    </Text>
  );
}
