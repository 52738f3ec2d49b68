import { Box, Progress, Stack, Text } from "@mantine/core";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { duration, wholePercent } from "../components/units";
import { t } from "../language/t";

interface Standing {
  readonly state: string;
  readonly progress: number;
  readonly left_s: number | null;
  readonly reason_code: string;
  readonly reason_sentence: string;
}

/** How far a simulation is and how long it takes still, or why it failed. */
export function Far({ of }: { of: Standing }) {
  const { state, progress, left_s, reason_code, reason_sentence } = of;
  if (state !== "running") {
    return (
      <>
        <State of={state} />
        {reason_code !== "" && (
          <Box miw={180}>
            <Reason sentence={reason_sentence} code={reason_code} />
          </Box>
        )}
      </>
    );
  }
  const share = wholePercent(progress);
  return (
    <Stack gap={3} miw={120}>
      <Progress value={100 * progress} size="sm" aria-label={share} />
      <Text size="xs" c="var(--quiet)">
        {left_s === null ? share : t`${share}, about ${duration(left_s)} left`}
      </Text>
    </Stack>
  );
}
