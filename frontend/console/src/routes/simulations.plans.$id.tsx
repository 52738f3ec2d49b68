import { Anchor, Stack } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { Facts } from "../components/Facts";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { counted } from "../components/units";
import { until } from "../components/until";
import { When } from "../components/When";
import { Shown } from "../federations/PlanForecasts";
import { federationQuery } from "../federations/queries";
import { profileOf, samplesOf, splitOf } from "../federations/triedOn";
import { t } from "../language/t";
import { PlanTable } from "../simulations/PlanTable";
import { triedPlanQuery } from "../simulations/queries";
import { SaveJson } from "../simulations/Save";

export const Route = createFileRoute("/simulations/plans/$id")({
  component: TriedPlanPage,
  loader: async ({ context: { queryClient }, params }) => {
    const tried = await queryClient.ensureQueryData(triedPlanQuery(params.id));
    await queryClient.ensureQueryData(federationQuery(tried?.job.federation ?? ""));
  },
  ...until(t`Plan that was tried`),
});

function TriedPlanPage() {
  const { id } = Route.useParams();
  const { data: tried } = useSuspenseQuery(triedPlanQuery(id));
  const { data: federation } = useSuspenseQuery(federationQuery(tried?.job.federation ?? ""));
  if (tried === undefined || federation === undefined) return null;
  const { job } = tried;
  return (
    <>
      <PageHead
        title={`Plan of ${federation.name}`}
        says={
          <>
            <State of={job.state ?? "queued"} />, asked for <When at={job.created_at} />, for{" "}
            <Anchor component={Link} to={`/federations/${job.federation}`} size="sm">
              {federation.name}
            </Anchor>
          </>
        }
      >
        {tried.expected !== null && <SaveJson name={`plan-${id}`} content={JSON.stringify(tried, null, 2)} />}
      </PageHead>
      <Stack gap="lg">
        <Panel title="What is expected">
          <Shown of={tried} federation={federation} />
        </Panel>
        <Panel title="Plan and settings">
          <Stack gap="sm">
            <Facts
              of={[
                [t`Samples`, samplesOf(tried)],
                [t`Who has which`, tried.scenario === null ? splitOf(tried.split) : t`as the scenario says`],
                [
                  t`Devices`,
                  tried.profile === null
                    ? t`${counted(tried.devices)} like this fleet’s`
                    : `${counted(tried.devices)} ${profileOf(tried.profile)}`,
                ],
                [t`Rounds`, t`${counted(tried.rounds)} at most`],
                [t`Simulated time`, t`${counted(tried.days)} days at most`],
                [t`Seed`, String(tried.seed)],
              ]}
            />
            <PlanTable plan={tried.plan} />
          </Stack>
        </Panel>
      </Stack>
    </>
  );
}
