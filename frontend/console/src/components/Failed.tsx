import { Alert, Button, Code, Group, Stack, Text } from "@mantine/core";
import { IconAlertTriangle } from "@tabler/icons-react";
import { isProblem } from "../api/problem";
import { t } from "../language/t";
import { Refused } from "./Refused";

const FORBIDDEN = 403;

/** What went wrong, in the platform's own sentence, and a way on. */
export function Failed({ error, retry }: { error: unknown; retry: () => void }) {
  if (isProblem(error) && error.status === FORBIDDEN) return <Refused code={error.code} sentence={error.detail} />;
  const sentence = isProblem(error)
    ? error.detail
    : t`The platform does not answer. It may be restarting, or the network is down.`;
  return (
    <Alert color="red" variant="light" icon={<IconAlertTriangle />} title="This could not be shown">
      <Stack gap="sm" align="flex-start">
        <Text size="sm">{sentence}</Text>
        <Group gap="sm">
          <Button size="xs" variant="default" onClick={retry}>
            Try again
          </Button>
          {isProblem(error) && <Code>{error.code}</Code>}
        </Group>
      </Stack>
    </Alert>
  );
}
