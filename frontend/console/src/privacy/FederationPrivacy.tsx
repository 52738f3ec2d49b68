import { Grid, SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../api/client";
import { TimeChart } from "../chart/TimeChart";
import { Answer } from "../components/Answer";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { BudgetForm } from "./BudgetForm";
import { epsilon, federationPrivacyQuery, lasting, type FederationPrivacy as Told } from "./queries";

/** How much a federation has told of its devices, how long its budget lasts, and the budget. */
export function FederationPrivacy({ id }: { id: string }) {
  return (
    <Answer of={useQuery(federationPrivacyQuery(id))} height={260}>
      {(told) => <Shown key={`${told.budget.epsilon} ${told.budget.delta}`} id={id} told={told} />}
    </Answer>
  );
}

function Shown({ id, told }: { id: string; told: Told }) {
  const { budget } = told;
  const cost = told.epsilon_of_release;
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Panel title="What has been told of devices">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="lg" mb="md">
            <Figure
              value={`${epsilon(told.epsilon)} of ${epsilon(budget.epsilon)}`}
              label="epsilon spent"
              detail={`at delta ${budget.delta}, of the device of which most has been told`}
            />
            <Figure
              value={told.rounds_left === null ? "–" : told.rounds_left.toLocaleString("en")}
              label="more rounds"
              detail={
                cost === null
                  ? lasting(null)
                  : `${lasting(told.rounds_left)} if devices take turns; one alone costs ${epsilon(cost)}`
              }
            />
          </SimpleGrid>
          <Curve told={told} />
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <Panel title="Privacy budget">
          <BudgetForm
            budget={budget}
            action="privacy.change_federation_budget"
            call={(body, via) => api.PUT("/api/federations/{id}/privacy/", { params: { path: { id } }, body, ...via })}
          />
        </Panel>
      </Grid.Col>
    </Grid>
  );
}

function Curve({ told }: { told: Told }) {
  const { times, series } = useMemo(
    () => ({
      times: told.curve.map((point) => Date.parse(point.at) / 1000),
      series: [
        { label: "spent", values: told.curve.map((point) => point.epsilon) },
        { label: "budget", values: told.curve.map(() => told.budget.epsilon) },
      ],
    }),
    [told],
  );
  if (times.length < 2) {
    return (
      <Text size="sm" c="var(--quiet)">
        {told.epsilon_of_release === null
          ? `Privacy kind ${told.kind} guarantees nothing that could be counted.`
          : "The curve is drawn from the second release on."}
      </Text>
    );
  }
  return <TimeChart title="Epsilon after each release" times={times} series={series} format={epsilon} stepped />;
}
