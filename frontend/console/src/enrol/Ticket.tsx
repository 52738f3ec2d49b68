import { Alert, Anchor, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { components } from "../api/schema";
import { Command } from "../components/Command";
import { Panel } from "../components/Panel";
import { QrCode } from "../components/QrCode";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { joinedQuery } from "../devices/queries";

export type Issued = components["schemas"]["IssuedEnrolmentToken"];

/** Where only this machine itself is. */
const HERE = new Set(["localhost", "127.0.0.1", "[::1]"]);

/** Opens the phone's page, which asks its owner; a fragment is sent to nobody and reaches no log. */
const phoneLink = (platform: string, secret: string) => `${platform}/phone/#join=${secret}`;

/** A new enrolment token: its secret is shown this once, as commands and as a picture for a phone's camera. */
export function Ticket({ token: { id, secret, label } }: { token: Issued }) {
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
            {HERE.has(window.location.hostname) && (
              <Text size="sm" c="var(--quiet)">
                Other machines do not find this one as {window.location.hostname}: give them its name in your network.
              </Text>
            )}
            <Joined token={id} />
          </Stack>
          <Stack gap="xs" align="center">
            <QrCode text={phoneLink(platform, secret)} label="QR code of the token" />
            <Anchor href={phoneLink(platform, secret)} target="_blank" rel="noreferrer" size="sm">
              On a phone: scan this, or open the link
            </Anchor>
            {!window.isSecureContext && (
              <Text size="sm" c="var(--quiet)" maw="16rem">
                Browsers train only over https, and this platform is reached without it: the code opens on no phone yet.
              </Text>
            )}
          </Stack>
        </Group>
      </Stack>
    </Panel>
  );
}

const SHOWN = 5;

/** The devices that have joined with the token, as they do. */
function Joined({ token }: { token: number }) {
  const { data } = useQuery(joinedQuery(token, SHOWN));
  if (data === undefined || data.count === 0) {
    return (
      <Text size="sm" c="var(--quiet)" role="status">
        Nobody has joined with it yet; a device appears here as soon as it has.
      </Text>
    );
  }
  return (
    <div role="status">
      <Text size="sm" fw={550}>
        {data.count === 1 ? "1 device has joined" : `${counted(data.count)} devices have joined`}
      </Text>
      {data.results.map((device) => (
        <Group key={device.id} gap="sm">
          <Anchor component={Link} to={`/devices/${device.id}`} size="sm">
            {device.name}
          </Anchor>
          <State of={device.status} />
          <Text size="sm" c="var(--quiet)">
            <When at={device.enrolled_at} />
          </Text>
        </Group>
      ))}
    </div>
  );
}
