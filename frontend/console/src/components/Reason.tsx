import { Code, Text } from "@mantine/core";

/** Why something waits: the platform's own sentence, with the code to look it up by. */
export function Reason({ sentence, code }: { sentence: string; code: string }) {
  return (
    <Text component="span" size="sm" c="var(--quiet)">
      {sentence} <Code>{code}</Code>
    </Text>
  );
}
