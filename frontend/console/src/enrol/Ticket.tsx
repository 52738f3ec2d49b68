import { Alert, Group, Stack, Text } from "@mantine/core";
import { encode } from "uqr";
import { Command } from "../components/Command";
import { Panel } from "../components/Panel";

/** A new enrolment token: its secret is shown this once, as commands and as a picture for a phone's camera. */
export function Ticket({ secret, label }: { secret: string; label: string }) {
  const platform = window.location.origin;
  return (
    <Panel title={label === "" ? "A new token" : label}>
      <Stack gap="md">
        <Alert variant="light" color="yellow" title="This token is shown once">
          Who has it can let devices into the fleet, until it expires or is withdrawn.
        </Alert>
        <Group align="flex-start" gap="lg" wrap="wrap">
          <Stack gap="xs" flex="1 1 22rem" miw={0}>
            <Text size="sm" fw={550}>
              On a Raspberry Pi or any Linux machine with Python 3.11
            </Text>
            <Command>
              {[
                "pip install coterie-agent",
                `coterie-agent join ${platform} ${secret}`,
                "coterie-agent ingest samples.csv",
                "coterie-agent run",
              ].join("\n")}
            </Command>
            <Text size="sm" c="var(--quiet)">
              The device appears under Devices as soon as it has joined.
            </Text>
          </Stack>
          <Stack gap="xs" align="center">
            <QrCode text={`coterie:join?platform=${encodeURIComponent(platform)}&token=${secret}`} />
            <Text size="sm" c="var(--quiet)">
              The same for a camera
            </Text>
          </Stack>
        </Group>
      </Stack>
    </Panel>
  );
}

function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.flatMap((dark, x) => (dark ? [`M${x} ${y}h1v1h-1z`] : []))).join("");
  return (
    <svg viewBox={`0 0 ${size} ${size}`} width={168} height={168} role="img" aria-label="QR code of the token">
      <rect width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
