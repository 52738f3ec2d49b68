import { Text } from "@mantine/core";

/** A name, and below it where that is. */
export function Named({ name, place }: { name: string; place: string | undefined }) {
  return (
    <>
      <Text size="sm" fw={550}>
        {name}
      </Text>
      <Text size="xs" c="var(--quiet)" style={{ overflowWrap: "anywhere" }}>
        {place}
      </Text>
    </>
  );
}
