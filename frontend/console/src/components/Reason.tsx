import { Code, Text } from "@mantine/core";

interface Props {
  readonly sentence: string;
  readonly code: string;
  /** Where one looks for what to do, the code is shown; elsewhere it appears on hover. */
  readonly detailed?: boolean;
}

/** Why something waits: the platform's own sentence, with the code to look it up by. */
export function Reason({ sentence, code, detailed = false }: Props) {
  return (
    <Text component="span" size="sm" c="var(--quiet)" title={code}>
      {sentence} {detailed && <Code>{code}</Code>}
    </Text>
  );
}
