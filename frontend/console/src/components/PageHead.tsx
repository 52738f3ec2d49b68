import { Group, Stack, Text, Title } from "@mantine/core";
import { type ReactNode, useEffect } from "react";

/** A page's title, what is happening on it in one sentence, and what can be done. */
export function PageHead({ title, says, children }: { title: string; says?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · Coterie`;
  }, [title]);
  return (
    <Group justify="space-between" align="flex-end" mb="lg" gap="sm">
      <Stack gap={2}>
        <Title order={1} size="h2">
          {title}
        </Title>
        {says !== undefined && (
          <Text c="var(--quiet)" component="div" size="sm">
            {says}
          </Text>
        )}
      </Stack>
      {children !== undefined && <Group gap="xs">{children}</Group>}
    </Group>
  );
}
