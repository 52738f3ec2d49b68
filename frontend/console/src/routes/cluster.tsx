import { Anchor, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { type Cluster, clusterQuery, type Gang, type Host, type TeamUse } from "../cluster/queries";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { numbers } from "../components/locale";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes } from "../components/units";
import { When } from "../components/When";
import { launcherName } from "../jobs/launchers";
import { t } from "../language/t";
import { Permitted } from "../session/Permitted";
import { sessionQuery } from "../session/session";
import { type SmallColumn, SmallTable } from "../table/SmallTable";

export const Route = createFileRoute("/cluster")({
  component: ClusterPage,
  loader: ({ context: { queryClient } }) => {
    // Others would be refused.
    if (queryClient.getQueryData(sessionQuery.queryKey)?.all_projects) queryClient.prefetchQuery(clusterQuery);
  },
});

function ClusterPage() {
  const { data: session, isLoadingError } = useQuery(sessionQuery);
  const cluster = useQuery({ ...clusterQuery, enabled: isLoadingError || session?.all_projects === true });
  return (
    <>
      <PageHead title="Cluster" says={cluster.data && says(cluster.data)} />
      <Permitted needs="installation">
        <Answer of={cluster}>
          {({ hosts, gangs, use }) => (
            <Stack gap="lg">
              <Panel title="Hosts">
                {hosts.length === 0 ? (
                  <Empty title="No host yet">A machine is a host as soon as a Celery worker runs on it.</Empty>
                ) : (
                  <SmallTable label="Hosts" columns={HOSTS} rows={hosts} rowKey={(host) => host.name} minWidth={620} />
                )}
              </Panel>
              <Panel title="Queue">
                {gangs.length === 0 ? (
                  <Empty title="No job runs or waits">
                    Jobs come here when a model pair is submitted, bootstrapped or distilled.{" "}
                    <Anchor component={Link} to="/models/new">
                      Upload a pair
                    </Anchor>
                    .
                  </Empty>
                ) : (
                  <SmallTable label="Queue" columns={GANGS} rows={gangs} rowKey={(gang) => gang.job} minWidth={760} />
                )}
              </Panel>
              {use.length > 0 && (
                <Panel title="Use in 90 days">
                  <SmallTable label="Use" columns={USE} rows={use} rowKey={(one) => one.team} minWidth={420} />
                </Panel>
              )}
            </Stack>
          )}
        </Answer>
      </Permitted>
    </>
  );
}

function says({ hosts, gangs }: Cluster): string {
  const there = hosts.filter((host) => host.present);
  const places = there.reduce((sum, host) => sum + host.places, 0);
  const used = there.reduce((sum, host) => sum + host.used, 0);
  const waiting = gangs.filter((gang) => gang.state === "waiting").length;
  const on = there.length === 1 ? t`1 host` : t`${there.length} hosts`;
  const wait = waiting === 1 ? t`1 job waits` : t`${waiting} jobs wait`;
  return t`${used} of ${places} places on ${on} are used; ${wait}.`;
}

const hours = (many: number) => numbers({ maximumFractionDigits: 1 }).format(many);

const HOSTS: readonly SmallColumn<Host>[] = [
  { header: "Host", cell: (host) => host.name },
  { header: "State", cell: (host) => <State of={host.present ? "ready" : "lost"} /> },
  { header: "Rack", cell: (host) => host.rack || "–" },
  { header: "Launcher", cell: (host) => launcherName(host.launcher) },
  {
    header: "Places used",
    align: "end",
    cell: (host) => t`${host.used} of ${host.places}`,
    tint: (host) => Math.min(1, host.used / host.places),
  },
  { header: "Cores", align: "end", cell: (host) => host.cores },
  { header: "GPUs", align: "end", cell: (host) => host.gpus },
  { header: "Memory", align: "end", cell: (host) => bytes(host.memory_bytes) },
  { header: "Seen", cell: (host) => <When at={host.seen_at} /> },
];

const GANGS: readonly SmallColumn<Gang>[] = [
  { header: "Job", cell: (gang) => gang.name },
  { header: "State", cell: (gang) => <State of={gang.state} /> },
  { header: "Where, or why not yet", cell: (gang) => <Where gang={gang} /> },
  { header: "Workers", align: "end", cell: (gang) => gang.ranks },
  { header: "Launcher", cell: (gang) => launcherName(gang.launcher || "any") },
  { header: "Team", cell: (gang) => gang.team || "–" },
  { header: "Priority", align: "end", cell: (gang) => gang.priority },
  { header: "Since", cell: (gang) => <When at={gang.placed_at ?? gang.since} /> },
];

function Where({ gang }: { gang: Gang }) {
  const places = gang.shares.map((share) => t`${share.ranks} on ${share.host}`).join(", ");
  return (
    <>
      {places}
      {places !== "" && gang.reason_code !== "" && "; "}
      {gang.reason_code !== "" && <Reason sentence={gang.reason_sentence} code={gang.reason_code} />}
    </>
  );
}

const USE: readonly SmallColumn<TeamUse>[] = [
  { header: "Team", cell: (use) => use.team || t`no team` },
  { header: "Places now", align: "end", cell: (use) => use.places },
  { header: "Quota", align: "end", cell: (use) => use.quota ?? "–" },
  { header: "Place hours", align: "end", cell: (use) => hours(use.place_hours) },
  { header: "GPU hours", align: "end", cell: (use) => hours(use.gpu_hours) },
];
