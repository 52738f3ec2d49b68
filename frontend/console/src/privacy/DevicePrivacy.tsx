import { Grid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Answer } from "../components/Answer";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { BudgetForm } from "./BudgetForm";
import { type DevicePrivacy as Accounts, devicePrivacyQuery, epsilon } from "./queries";

/** What all federations have spent of a device's privacy budget, and the budget. */
export function DevicePrivacy({ id }: { id: string }) {
  return (
    <Panel title="What releases have spent on the device">
      <Answer of={useQuery(devicePrivacyQuery(id))} height={200}>
        {(spent) => <Shown key={`${spent.budget.epsilon} ${spent.budget.delta}`} id={id} spent={spent} />}
      </Answer>
    </Panel>
  );
}

function Shown({ id, spent }: { id: string; spent: Accounts }) {
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Figure
          value={t`${epsilon(spent.epsilon)} of ${epsilon(spent.budget.epsilon)}`}
          label="epsilon spent, all federations together"
          detail={`at delta ${spent.budget.delta}`}
        />
        {spent.accounts.length === 0 ? (
          <Text size="sm" c="var(--quiet)" mt="sm">
            No release under noise has been of this device.
          </Text>
        ) : (
          <SmallTable
            label="What each federation has spent"
            columns={COLUMNS}
            rows={spent.accounts}
            rowKey={(account) => account.federation}
            minWidth={320}
          />
        )}
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <BudgetForm
          budget={spent.budget}
          action="privacy.change_device_budget"
          call={(body, via) => api.PUT("/api/devices/{id}/privacy/", { params: { path: { id } }, body, ...via })}
        />
      </Grid.Col>
    </Grid>
  );
}

const COLUMNS: readonly SmallColumn<Accounts["accounts"][number]>[] = [
  { header: "Federation", cell: (account) => account.federation_name },
  { header: "Releases", align: "end", cell: (account) => counted(account.releases) },
  { header: "Epsilon alone", align: "end", cell: (account) => epsilon(account.epsilon) },
];
