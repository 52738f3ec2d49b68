import { Code, Text } from "@mantine/core";

interface Props {
  readonly sentence: string;
  readonly code: string;
  /** In a table the code only appears on hover. */
  readonly brief?: boolean;
}

/** Why something waits: the platform's own sentence, with the code to look it up by. */
export function Reason({ sentence, code, brief = false }: Props) {
  return (
    <Text component="span" size="sm" c="var(--quiet)" title={brief ? code : undefined}>
      {sentence} {!brief && <Code>{code}</Code>}
    </Text>
  );
}
