import { Progress, Stack, Text } from "@mantine/core";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import type { Alliance } from "./queries";
import { stepsOf } from "./standing";

/** How far an alliance is, part by part. */
export function Way({ alliance }: { alliance: Alliance }) {
  return (
    <Panel title="How far it is" fills>
      <Stack component="ol" gap="sm" m={0} p={0} style={{ listStyle: "none" }}>
        {stepsOf(alliance).map(({ words, detail, done }) => (
          <li key={words}>
            <Text size="sm">
              {words}
              <Text component="span" size="sm" c="var(--quiet)">
                : {detail}
              </Text>
            </Text>
            <Progress value={100 * done} size="sm" mt={4} aria-label={`${words}: ${percent(done)}`} />
          </li>
        ))}
      </Stack>
    </Panel>
  );
}
