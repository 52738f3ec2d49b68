import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { agentReleasesQuery } from "../agents/queries";
import { StartForm } from "../agents/StartForm";
import { Answer } from "../components/Answer";
import { PageHead } from "../components/PageHead";
import { Permitted } from "../session/Permitted";

export const Route = createFileRoute("/agents/new")({
  component: NewRollout,
  loader: ({ context }) => {
    context.queryClient.prefetchQuery(agentReleasesQuery);
  },
});

function NewRollout() {
  const navigate = Route.useNavigate();
  const releases = useQuery(agentReleasesQuery);
  return (
    <>
      <PageHead title="Roll out a release" says="Few devices get it first; the others follow while it holds.">
        <Anchor component={Link} to="/agents" size="sm">
          All roll-outs
        </Anchor>
      </PageHead>
      <Permitted needs={{ action: "agent_rollouts.start_agent_rollout" }}>
        <Answer of={releases} height={320}>
          {(found) => <StartForm of={found} onStarted={({ id }) => navigate({ to: "/agents/$id", params: { id } })} />}
        </Answer>
      </Permitted>
    </>
  );
}
