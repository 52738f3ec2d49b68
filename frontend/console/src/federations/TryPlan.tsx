import { Anchor, Group, NumberInput, Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { JOBS } from "../jobs/queries";
import { t } from "../language/t";
import { datasetsQuery } from "../models/queries";
import { type Federation, PLAN_FORECASTS, type Plan } from "./queries";
import { AT_ONCE, DRIFTS, FLEETS, OWN, SCENARIOS, SPLITS } from "./triedOn";

type Asked = components["schemas"]["TryPlanRequest"];

const MOST_ROUNDS = 1000;
const LEAST_DAYS = 0.01;
const MOST_DAYS = 60;

interface Props {
  readonly federation: Federation;
  readonly plan: Plan;
  /** Why the plan cannot be tried. */
  readonly blocked?: string | undefined;
}

/** Has a plan tried on a simulated fleet: nothing reaches a device. */
export function TryPlan({ federation, plan, blocked }: Props) {
  const { data: datasets } = useQuery(datasetsQuery);
  const [chosen, choose] = useState<string | null>(null);
  const [split, setSplit] = useState("dirichlet:0.5");
  const [fleet, setFleet] = useState(OWN);
  const [rounds, setRounds] = useState<number | string>(20);
  const [drift, setDrift] = useState(AT_ONCE);
  const [days, setDays] = useState<number | string>(14);
  const samples = chosen ?? federation.held_out ?? datasets?.[0]?.id ?? null;
  const scenario = SCENARIOS.find(([name]) => name === samples)?.[0];
  const unready =
    samples === null
      ? t`Choose the samples.`
      : typeof rounds !== "number" || rounds < 1 || rounds > MOST_ROUNDS
        ? t`Rounds are 1 to ${MOST_ROUNDS}.`
        : typeof days !== "number" || days < LEAST_DAYS || days > MOST_DAYS
          ? t`Days are ${LEAST_DAYS} to ${MOST_DAYS}.`
          : undefined;
  return (
    <Action
      action="twin.try_plan"
      label="Try this plan"
      blocked={blocked}
      unready={unready}
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            The plan runs on simulated devices, from the version that devices have now. Nothing of the federation
            changes, and no device is asked.
          </Text>
          <Select
            label="Samples"
            description="The more they are like those on devices, the better the forecast."
            data={[
              { group: t`Data sets`, items: datasets?.map((one) => ({ value: one.id, label: one.name })) ?? [] },
              { group: t`Scenarios`, items: SCENARIOS.map(([value, label]) => ({ value, label })) },
            ]}
            value={samples}
            allowDeselect={false}
            onChange={choose}
          />
          <Anchor component={Link} to="/models/datasets" size="sm">
            Upload another data set
          </Anchor>
          {scenario === undefined && (
            <Select
              label="Who has which"
              data={SPLITS}
              value={split}
              allowDeselect={false}
              onChange={(value) => value !== null && setSplit(value)}
            />
          )}
          <Select
            label="Fleet"
            data={FLEETS}
            value={fleet}
            allowDeselect={false}
            onChange={(value) => value !== null && setFleet(value)}
          />
          <Select
            label="When samples come"
            description="Devices that train by themselves or help each other do so with what is new: let samples come."
            data={DRIFTS}
            value={drift}
            allowDeselect={false}
            onChange={(value) => value !== null && setDrift(value)}
          />
          <Group grow>
            <NumberInput label="Rounds, at most" min={1} max={MOST_ROUNDS} value={rounds} onChange={setRounds} />
            <NumberInput label="Days" min={LEAST_DAYS} max={MOST_DAYS} value={days} onChange={setDays} />
          </Group>
          <Anchor component={Link} to="/simulations" size="sm">
            All plans that were tried
          </Anchor>
        </Stack>
      }
      done="It is tried as soon as the cloud is free."
      changes={[PLAN_FORECASTS, JOBS]}
      call={(via) =>
        api.POST("/api/federations/{id}/plan-forecasts/", {
          params: { path: { id: federation.id } },
          body: {
            plan,
            ...(scenario === undefined ? { dataset: samples, split } : { scenario }),
            profile: fleet === OWN ? null : fleet,
            rounds: Number(rounds),
            days: Number(days),
            drift: drift === AT_ONCE ? null : drift,
          } as Asked, // everything else has a default
          ...via,
        })
      }
    />
  );
}
