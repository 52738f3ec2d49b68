import { Anchor } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { BeginForm } from "../alliances/BeginForm";
import { halvesQuery } from "../alliances/queries";
import { Answer } from "../components/Answer";
import { PageHead } from "../components/PageHead";
import { Permitted } from "../session/Permitted";

export const Route = createFileRoute("/alliances/new")({
  component: NewAlliance,
  loader: ({ context }) => {
    context.queryClient.prefetchQuery(halvesQuery);
  },
});

function NewAlliance() {
  const navigate = Route.useNavigate();
  const halves = useQuery(halvesQuery);
  return (
    <>
      <PageHead
        title="Begin an alliance"
        says="Two devices with different columns about the same people train one network, once the owners of both agree."
      >
        <Anchor component={Link} to="/alliances" size="sm">
          All alliances
        </Anchor>
      </PageHead>
      <Permitted needs={{ action: "alliances.begin_alliance" }}>
        <Answer of={halves} height={320}>
          {(found) => (
            <BeginForm halves={found} onBegun={({ id }) => navigate({ to: "/alliances/$id", params: { id } })} />
          )}
        </Answer>
      </Permitted>
    </>
  );
}
