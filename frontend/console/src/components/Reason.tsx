import { Code, Text } from "@mantine/core";

interface Props {
  readonly sentence: string;
  readonly code: string;
  /** Where one looks for what to do, the code can be opened; elsewhere it appears on hover. */
  readonly detailed?: boolean;
}

/** Why something waits: the platform's own sentence, with the code to look it up by. */
export function Reason({ sentence, code, detailed = false }: Props) {
  return (
    <>
      <Text component="span" size="sm" c="var(--quiet)" title={code}>
        {sentence}
      </Text>
      {detailed && (
        <Text component="details" size="xs" c="var(--quiet)" display="inline-block" ml="xs">
          <summary>Details</summary>
          Code <Code>{code}</Code>
        </Text>
      )}
    </>
  );
}
