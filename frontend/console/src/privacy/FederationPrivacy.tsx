import { Grid, SimpleGrid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { api } from "../api/client";
import { FROM_NOTHING } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { Answer } from "../components/Answer";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { t } from "../language/t";
import { BudgetForm } from "./BudgetForm";
import { type FederationPrivacy as Account, epsilon, federationPrivacyQuery, lasting } from "./queries";

/** What a federation has spent of its privacy budget, how long the rest lasts, and the budget. */
export function FederationPrivacy({ id }: { id: string }) {
  return (
    <Answer of={useQuery(federationPrivacyQuery(id))} height={260}>
      {(account) => <Shown key={`${account.budget.epsilon} ${account.budget.delta}`} id={id} account={account} />}
    </Answer>
  );
}

function Shown({ id, account }: { id: string; account: Account }) {
  const { budget } = account;
  const cost = account.epsilon_of_release;
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Panel title="What releases have spent">
          <SimpleGrid cols={{ base: 1, xs: 2 }} spacing="lg" mb="md">
            <Figure
              value={t`${epsilon(account.epsilon)} of ${epsilon(budget.epsilon)}`}
              label="epsilon spent"
              detail={`at delta ${budget.delta}, of the device that most was spent on`}
            />
            <Figure
              value={account.rounds_left === null ? "–" : counted(account.rounds_left)}
              label="more rounds"
              detail={
                cost === null
                  ? lasting(null)
                  : `${lasting(account.rounds_left)} if devices take turns; one alone costs ${epsilon(cost)}`
              }
            />
          </SimpleGrid>
          <Curve account={account} />
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

function Curve({ account }: { account: Account }) {
  const { times, series } = useMemo(
    () => ({
      times: account.curve.map((point) => Date.parse(point.at) / 1000),
      series: [
        { label: "spent", values: account.curve.map((point) => point.epsilon) },
        { label: "budget", values: account.curve.map(() => account.budget.epsilon) },
      ],
    }),
    [account],
  );
  if (times.length < 2) {
    return (
      <Text size="sm" c="var(--quiet)">
        {account.epsilon_of_release === null
          ? "Under this plan no epsilon is guaranteed, so none is spent."
          : "The curve is drawn from the second release on."}
      </Text>
    );
  }
  return (
    <TimeChart
      title="Epsilon after each release"
      times={times}
      series={series}
      format={epsilon}
      bounds={FROM_NOTHING}
      stepped
    />
  );
}
