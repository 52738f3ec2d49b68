import { Grid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Answer } from "../components/Answer";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { BudgetForm } from "./BudgetForm";
import { devicePrivacyQuery, epsilon, type DevicePrivacy as Told } from "./queries";

/** What all federations have told of a device, and its budget. */
export function DevicePrivacy({ id }: { id: string }) {
  return (
    <Panel title="What has been told of the device">
      <Answer of={useQuery(devicePrivacyQuery(id))} height={200}>
        {(told) => <Shown key={`${told.budget.epsilon} ${told.budget.delta}`} id={id} told={told} />}
      </Answer>
    </Panel>
  );
}

function Shown({ id, told }: { id: string; told: Told }) {
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 8 }}>
        <Figure
          value={`${epsilon(told.epsilon)} of ${epsilon(told.budget.epsilon)}`}
          label="epsilon spent, all federations together"
          detail={`at delta ${told.budget.delta}`}
        />
        {told.accounts.length === 0 ? (
          <Text size="sm" c="var(--quiet)" mt="sm">
            No release under noise has been of this device.
          </Text>
        ) : (
          <SmallTable
            label="What each federation has told"
            columns={COLUMNS}
            rows={told.accounts}
            rowKey={(account) => account.federation}
            minWidth={320}
          />
        )}
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 4 }}>
        <BudgetForm
          budget={told.budget}
          action="privacy.change_device_budget"
          call={(body, via) => api.PUT("/api/devices/{id}/privacy/", { params: { path: { id } }, body, ...via })}
        />
      </Grid.Col>
    </Grid>
  );
}

const COLUMNS: readonly SmallColumn<Told["accounts"][number]>[] = [
  { header: "Federation", cell: (account) => account.federation_slug },
  { header: "Releases", align: "end", cell: (account) => account.releases.toLocaleString("en") },
  { header: "Epsilon alone", align: "end", cell: (account) => epsilon(account.epsilon) },
];
