import { NumberInput, Select, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { t } from "../language/t";
import { PRIVACY } from "./queries";

type Limit = components["schemas"]["Limit"];
export type Budget = components["schemas"]["BudgetRequest"];
type Props = Parameters<typeof Action>[0];

const DELTAS = [1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10];

/** A privacy budget, to be changed; it holds from the next release on. */
export function BudgetForm({
  budget,
  action,
  call,
}: {
  budget: Limit;
  action: Props["action"];
  call: (budget: Budget, via: Parameters<Props["call"]>[0]) => ReturnType<Props["call"]>;
}) {
  const form = useForm({ initialValues: { epsilon: budget.epsilon, delta: String(budget.delta) } });
  const given = { epsilon: Number(form.values.epsilon), delta: Number(form.values.delta) };
  const deltas = [...new Set([...DELTAS, budget.delta])].sort((one, other) => other - one).map(String);
  return (
    <Stack gap="sm">
      <NumberInput
        label="Epsilon"
        description="the most that may be spent; smaller is more private"
        min={0.001}
        max={1000}
        {...form.getInputProps("epsilon")}
      />
      <Select
        label="Delta"
        description="below one in as many as there are devices"
        data={deltas}
        allowDeselect={false}
        {...form.getInputProps("delta")}
      />
      <Action
        action={action}
        label="Change the budget"
        blocked={form.isDirty() ? undefined : t`Nothing is changed yet.`}
        confirm={
          given.epsilon > budget.epsilon || given.delta > budget.delta
            ? "More may then be revealed about devices than was promised before. The audit log keeps who allowed it."
            : undefined
        }
        done="It holds from the next release on."
        changes={[PRIVACY]}
        onDone={() => form.resetDirty()}
        call={(via) => call(given, via)}
      />
    </Stack>
  );
}
