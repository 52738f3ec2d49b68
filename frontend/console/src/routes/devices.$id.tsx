import { Alert, Badge, Grid, Group, Stack, Text } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { Noted } from "../components/Noted";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { until } from "../components/until";
import { Departures } from "../devices/Departures";
import { DeviceActions } from "../devices/DeviceActions";
import { DeviceFacts } from "../devices/DeviceFacts";
import { DeviceHistory } from "../devices/DeviceHistory";
import { DeviceLogs } from "../devices/DeviceLogs";
import { DeviceSpeed } from "../devices/DeviceSpeed";
import { DeviceTimeline } from "../devices/DeviceTimeline";
import { Neighbours } from "../devices/Neighbours";
import { Owner } from "../devices/Owner";
import { deviceQuery, whyQuery } from "../devices/queries";
import { t } from "../language/t";
import { useWatched } from "../live/Live";
import { DevicePrivacy } from "../privacy/DevicePrivacy";
import { texts } from "../table/search";

/** What of the device is looked at beside the page. */
interface Looking {
  /** A request for its log. */
  readonly log?: string;
}

const looking = (log: string | undefined): Looking => (log === undefined ? {} : { log });

export const Route = createFileRoute("/devices/$id")({
  component: DevicePage,
  validateSearch: (raw): Looking => texts<Looking>(raw, ["log"]),
  loader: ({ context, params }) =>
    Promise.all([
      context.queryClient.ensureQueryData(deviceQuery(params.id)),
      context.queryClient.ensureQueryData(whyQuery(params.id)),
    ]),
  ...until(t`Device`),
});

function DevicePage() {
  const { id } = Route.useParams();
  const { log } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: device } = useSuspenseQuery(deviceQuery(id));
  useWatched([id]);
  if (device === undefined) return null;
  return (
    <>
      <PageHead
        title={device.name}
        says={
          <Group gap="sm">
            <State of={device.status} />
            {device.tags.map((tag) => (
              <Badge key={tag} variant="light" color="gray" tt="none" fw={500}>
                {tag}
              </Badge>
            ))}
          </Group>
        }
      >
        <DeviceActions device={device} />
      </PageHead>
      <Stack gap="lg">
        <Noted notes={device.notes} archivedAt={device.archived_at} />
        <Why id={id} />
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 4 }}>
            <DeviceFacts device={device} />
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 8 }}>
            <DeviceTimeline id={id} />
          </Grid.Col>
        </Grid>
        <DeviceSpeed id={id} />
        <DeviceHistory id={id} />
        <Neighbours id={id} />
        <Departures id={id} />
        <DeviceLogs
          device={device}
          shown={log}
          onShow={(shown) => navigate({ search: looking(shown), replace: true })}
        />
        <DevicePrivacy id={id} />
        <Owner device={device} />
      </Stack>
    </>
  );
}

function Why({ id }: { id: string }) {
  const { data: why } = useSuspenseQuery(whyQuery(id));
  if (why === undefined) return null;
  if (why.training) {
    return (
      <Alert variant="light" color="teal" title="It trains now">
        <Text size="sm">It has an assignment and works on it.</Text>
      </Alert>
    );
  }
  return (
    <Panel title="Why it does not train">
      <Stack gap={6} component="ul" m={0} pl="md">
        {why.reasons.map((reason) => (
          <li key={reason.code}>
            <Reason {...reason} detailed />
          </li>
        ))}
      </Stack>
    </Panel>
  );
}
