import { Anchor, Stack, Text, Title } from "@mantine/core";
import { Link } from "@tanstack/react-router";

export function NotFound() {
  return (
    <Stack gap="xs">
      <Title order={1} size="h2">
        Nothing is here
      </Title>
      <Text c="dimmed">
        The address may be old, or what it named has been removed.{" "}
        <Anchor component={Link} to="/">
          Go to the overview
        </Anchor>
      </Text>
    </Stack>
  );
}
