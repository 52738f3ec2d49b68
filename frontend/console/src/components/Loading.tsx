import { Skeleton, Stack } from "@mantine/core";

/** The shape of a page that is on its way. */
export function Loading() {
  return (
    <Stack aria-busy="true" aria-label="Loading" role="status">
      <Skeleton height={28} width="30%" />
      <Skeleton height={120} />
      <Skeleton height={280} />
    </Stack>
  );
}
