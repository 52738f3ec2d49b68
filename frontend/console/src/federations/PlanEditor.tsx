import { Button, Group, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { differences } from "../plan/difference";
import { PlanDifference } from "../plan/PlanDifference";
import { PlanForm } from "../plan/PlanForm";
import { FEDERATIONS, type Federation, type Plan, planSchemaQuery } from "./queries";

/** A federation's plan, to look at and to change; what a change does is shown before it is made. */
export function PlanEditor({ federation }: { federation: Federation }) {
  const running = (federation.plan ?? {}) as Plan;
  const [changed, setChanged] = useState<Plan>();
  const plan = changed ?? running;
  const same = differences(running, plan).length === 0;
  return (
    <Panel title="The plan">
      <Stack gap="md">
        <Answer of={useQuery(planSchemaQuery)} height={320}>
          {(schema) => <PlanForm schema={schema} plan={plan} onChange={setChanged} />}
        </Answer>
        <PlanDifference before={running} after={plan} />
        <Text size="sm" c="var(--quiet)">
          A changed plan holds from the next round on; the round that is open keeps its own.
        </Text>
        <Group gap="xs" justify="flex-end">
          {!same && (
            <Button variant="default" size="sm" onClick={() => setChanged(undefined)}>
              As it runs
            </Button>
          )}
          <Action
            action="federations.change_plan"
            label="Change the plan"
            primary
            blocked={same ? "Nothing is changed." : undefined}
            done="The next round has the changed plan."
            changes={[FEDERATIONS]}
            onDone={() => setChanged(undefined)}
            call={(via) =>
              api.PATCH("/api/federations/{id}/", { params: { path: { id: federation.id } }, body: { plan }, ...via })
            }
          />
        </Group>
      </Stack>
    </Panel>
  );
}
