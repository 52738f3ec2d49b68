import { Text } from "@mantine/core";
import type { components } from "../api/schema";
import { Facts } from "../components/Facts";
import { bytes, counted } from "../components/units";
import { t } from "../language/t";

type ExpectedTraffic = components["schemas"]["ExpectedTraffic"];

/** What a plan makes devices send and fetch: a device in a round, a round, a month. */
export function Traffic({ of }: { of: ExpectedTraffic }) {
  const exact = of.least_update_bytes === of.most_update_bytes;
  const [least, usual, most] = [bytes(of.least_update_bytes), bytes(of.update_bytes), bytes(of.most_update_bytes)];
  const up = exact ? usual : t`about ${usual} (${least} to ${most})`;
  const whole = of.difference_bytes === of.version_bytes;
  const down = whole
    ? bytes(of.version_bytes)
    : t`about ${bytes(of.difference_bytes)} (${bytes(of.version_bytes)} at first)`;
  const rounds = counted(Math.max(1, Math.round(of.rounds_a_month)));
  return (
    <section aria-label="What it sends">
      <Facts
        of={[
          [t`A device in a round`, t`${up} up, ${down} down`],
          [t`A round`, t`${bytes(of.round_up_bytes)} up, ${bytes(of.round_down_bytes)} down`],
          [t`A month`, t`${bytes(of.month_up_bytes)} up, ${bytes(of.month_down_bytes)} down`],
        ]}
      />
      <Text size="xs" c="var(--quiet)">
        With as many updates as are wanted, and {rounds} rounds in thirty days, each as long as its deadline; rounds
        that close sooner come more often.
      </Text>
    </section>
  );
}
