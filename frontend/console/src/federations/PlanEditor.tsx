import { Alert, Button, Group, Stack } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { UnsavedChanges } from "../components/UnsavedChanges";
import { t } from "../language/t";
import { differences } from "../plan/difference";
import { Misfit } from "../plan/Misfit";
import { PlanDifference } from "../plan/PlanDifference";
import { PlanForm } from "../plan/PlanForm";
import { Traffic } from "../plan/Traffic";
import { FEDERATIONS, type Federation, type Plan, planPreviewQuery, planSchemaQuery, refusalOf } from "./queries";
import { TryPlan } from "./TryPlan";

const TYPING_MS = 300;

/** A federation's plan, to look at and to change; what a change does is shown before it is made. */
export function PlanEditor({ federation }: { federation: Federation }) {
  const running = (federation.plan ?? {}) as Plan;
  const [changed, setChanged] = useState<{ plan: Plan; insteadOf: Plan }>();
  const plan = changed?.plan ?? running;
  const same = differences(running, plan).length === 0;
  const [typed] = useDebouncedValue(plan, TYPING_MS);
  const { data: preview } = useQuery({ ...planPreviewQuery(federation.id, typed), enabled: typed === plan });
  const refusal = same ? undefined : refusalOf(preview?.problems);
  // What another operator changes meanwhile is not undone: the platform compares with what this change was made from.
  const change = (to: Plan) => setChanged((from) => ({ plan: to, insteadOf: from?.insteadOf ?? running }));
  return (
    <Panel title="The plan">
      <UnsavedChanges present={!same} />
      <Stack gap="md">
        <Answer of={useQuery(planSchemaQuery)} height={320}>
          {(schema) => <PlanForm schema={schema} plan={plan} onChange={change} />}
        </Answer>
        {preview?.traffic && <Traffic of={preview.traffic} />}
        <PlanDifference before={running} after={plan} />
        {!same && preview !== undefined && <Preview refusal={refusal} effects={preview.effects} />}
        <Group gap="xs" justify="flex-end">
          <TryPlan federation={federation} plan={plan} blocked={refusal} />
          {!same && (
            <Button variant="default" size="sm" onClick={() => setChanged(undefined)}>
              As it runs
            </Button>
          )}
          <Action
            action="federations.change_plan"
            label="Change the plan"
            primary
            blocked={same ? t`Nothing is changed.` : refusal}
            done="The next round has the changed plan."
            changes={[FEDERATIONS]}
            onDone={() => setChanged(undefined)}
            call={(via) =>
              api.PATCH("/api/federations/{id}/", {
                params: { path: { id: federation.id } },
                body: { plan, instead_of: changed?.insteadOf ?? running },
                ...via,
              })
            }
          />
        </Group>
      </Stack>
    </Panel>
  );
}

/** What the platform says of the plan that is typed: why it would refuse it, or what it would do with it. */
function Preview({ refusal, effects }: { refusal: string | undefined; effects: readonly string[] }) {
  if (refusal !== undefined) return <Misfit sentence={refusal} />;
  return (
    <Alert variant="light" color="teal" title="What the change will do" role="status">
      <Stack gap={4} component="ul" m={0} pl="md">
        {effects.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </Stack>
    </Alert>
  );
}
