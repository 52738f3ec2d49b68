import { Anchor, Code, Stack, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";

const COMMAND = "coterie simulate fedavg --pair device.pt2 --data samples.npz --split dirichlet:0.3 --on platform";

/** Where simulations come from. */
export function PlansSource() {
  return (
    <Stack gap="sm">
      <Text size="sm">
        Open the plan of a federation and choose “Try this plan”: it runs on simulated devices, and no device is asked.
      </Text>
      <Anchor component={Link} to="/federations" size="sm">
        Federations
      </Anchor>
    </Stack>
  );
}

export function RunsSource() {
  return (
    <Stack gap="sm">
      <Text size="sm">Have this platform’s workers perform a simulation, or a sweep of many:</Text>
      <Code block style={{ whiteSpace: "pre-wrap", overflowWrap: "anywhere" }}>
        {COMMAND}
      </Code>
    </Stack>
  );
}
