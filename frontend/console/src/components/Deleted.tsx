import { Text } from "@mantine/core";

/** Why no device is listed where devices have answered: the platform keeps what single ones said for so long. */
export function Deleted({ days }: { days: number }) {
  return (
    <Text size="sm" c="var(--quiet)">
      What single devices answered was deleted {days} days after the end; the totals stay.
    </Text>
  );
}
