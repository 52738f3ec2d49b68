import { Text } from "@mantine/core";
import type { components } from "../api/schema";
import { Facts } from "../components/Facts";
import { bytes, counted } from "../components/units";

type ExpectedTraffic = components["schemas"]["ExpectedTraffic"];

/** What a plan makes devices send and fetch: a device in a round, a round, a month. */
export function Traffic({ of }: { of: ExpectedTraffic }) {
  const exact = of.least_update_bytes === of.most_update_bytes;
  const range = `${bytes(of.least_update_bytes)} to ${bytes(of.most_update_bytes)}`;
  const update = exact ? bytes(of.update_bytes) : `about ${bytes(of.update_bytes)} (${range})`;
  const whole = of.difference_bytes === of.version_bytes;
  const down = whole
    ? bytes(of.version_bytes)
    : `about ${bytes(of.difference_bytes)} (${bytes(of.version_bytes)} at first)`;
  return (
    <section aria-label="What it sends">
      <Facts
        of={[
          ["A device in a round", `${update} up, ${down} down`],
          ["A round", `${bytes(of.round_up_bytes)} up, ${bytes(of.round_down_bytes)} down`],
          ["A month", `${bytes(of.month_up_bytes)} up, ${bytes(of.month_down_bytes)} down`],
        ]}
      />
      <Text size="xs" c="var(--quiet)">
        With as many updates as are wanted, and {counted(Math.max(1, Math.round(of.rounds_a_month)))} rounds in thirty
        days, each as long as its deadline; rounds that close sooner come more often.
      </Text>
    </section>
  );
}
