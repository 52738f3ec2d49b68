import { Alert, Code, Stack, Text } from "@mantine/core";
import { IconLock } from "@tabler/icons-react";

/** That one may not be shown something, and what one lacks; asking again would not help. */
export function Refused({ code, sentence }: { code: string; sentence: string }) {
  return (
    <Alert color="yellow" variant="light" icon={<IconLock />} title="You may not see this">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{sentence}</Text>
        <Code>{code}</Code>
      </Stack>
    </Alert>
  );
}
