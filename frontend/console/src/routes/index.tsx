import { Grid, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { Answer } from "../components/Answer";
import { Loading } from "../components/Loading";
import { PageHead } from "../components/PageHead";
import { Figures } from "../overview/Figures";
import { Fleet } from "../overview/Fleet";
import { Now } from "../overview/Now";
import { overviewQuery, repairsQuery } from "../overview/queries";
import { Repairs } from "../overview/Repairs";

// The charts come after what they are not needed for.
const charts = () => import("../overview/Charts");
const Charts = lazy(charts);
// Only what is empty shows them.
const FirstSteps = lazy(() => import("../start/FirstSteps"));

export const Route = createFileRoute("/")({
  codeSplitGroupings: [], // mostly opened first, so it comes with the frame
  component: Home,
  loader: ({ context }) => {
    context.queryClient.prefetchQuery(overviewQuery);
    context.queryClient.prefetchQuery(repairsQuery);
    charts().catch(() => undefined); // who shows them asks again, and says so if they do not come
  },
});

function Home() {
  const answer = useQuery(overviewQuery);
  return (
    <>
      <PageHead title="Overview" says={answer.data?.sentence} />
      <Answer of={answer}>
        {(overview) => (
          <Stack gap="lg">
            {overview.devices === 0 && overview.rounds.length === 0 && (
              <Suspense fallback={<Loading height={320} />}>
                <FirstSteps />
              </Suspense>
            )}
            <Figures overview={overview} />
            <Grid gap="lg">
              <Grid.Col span={{ base: 12, md: 7 }}>
                <Repairs />
              </Grid.Col>
              <Grid.Col span={{ base: 12, md: 5 }}>
                <Now overview={overview} />
              </Grid.Col>
            </Grid>
            <Suspense fallback={<Loading height={260} />}>
              <Charts overview={overview} />
            </Suspense>
            <Fleet overview={overview} />
          </Stack>
        )}
      </Answer>
    </>
  );
}
