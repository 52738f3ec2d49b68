import { Skeleton, Stack } from "@mantine/core";

/** The shape of a page that is on its way; with a height in pixels, of a part of one. */
export function Loading({ height }: { height?: number }) {
  return (
    <Stack aria-busy="true" aria-label="Loading" role="status">
      {height === undefined ? (
        <>
          <Skeleton height={120} />
          <Skeleton height={280} />
        </>
      ) : (
        <Skeleton height={height} />
      )}
    </Stack>
  );
}
