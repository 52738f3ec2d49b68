import { Alert, Grid, NumberInput, Select, Stack, Switch, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useDebouncedValue } from "@mantine/hooks";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { useEffect, useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { UnsavedChanges } from "../components/UnsavedChanges";
import {
  FEDERATIONS,
  type Federation,
  type Plan,
  planCheckQuery,
  planSchemaQuery,
  presetNotesQuery,
  presetsQuery,
  refusalOf,
} from "../federations/queries";
import { TermsFields } from "../federations/TermsFields";
import { t } from "../language/t";
import { datasetFor } from "../models/fitting";
import { datasetsQuery } from "../models/queries";
import { Misfit } from "../plan/Misfit";
import { PlanForm } from "../plan/PlanForm";
import { PresetChoice } from "../plan/PresetChoice";
import { Traffic } from "../plan/Traffic";
import { Permitted } from "../session/Permitted";

export const Route = createFileRoute("/federations/new")({ component: NewFederation });

const MANY = 500;
/** What a new federation's plan begins with: people differ. */
const FIRST_PRESET = "fedavg+fine_tuned";
const TYPING_MS = 300;
/** Why plans that teach the cloud model are refused without data. */
const NEEDS_CLOUD_DATA = "plan.needs_cloud_data";
const pairsQuery = queryOptions({
  queryKey: ["pairs", "ready"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/pairs/", { params: { query: { page_size: MANY } }, signal })).data?.results.filter(
      (pair) => pair.state === "ready",
    ),
});
function NewFederation() {
  const navigate = Route.useNavigate();
  const presets = useQuery(presetsQuery);
  const { data: notes = {} } = useQuery(presetNotesQuery);
  const { data: pairs } = useQuery(pairsQuery);
  const { data: datasets } = useQuery(datasetsQuery);
  const [changed, setPlan] = useState<Plan>();
  const plan = changed ?? presets.data?.[FIRST_PRESET];
  const form = useForm({
    initialValues: {
      name: "",
      pair: "",
      device_tag: "",
      held_out: "",
      cloud_data: "",
      tolerance: 2,
      patience: "" as number | "",
      attempts: 5,
      rounds_wanted: "" as number | "",
      own_versions: false,
    },
  });
  const { name, device_tag, held_out, cloud_data, tolerance, patience, attempts, rounds_wanted, own_versions } =
    form.values;
  const pair = form.values.pair || (pairs?.[0]?.id ?? "");
  const [typed] = useDebouncedValue(plan, TYPING_MS);
  const [tag] = useDebouncedValue(device_tag, TYPING_MS);
  const { data: checked, isFetching } = useQuery({
    ...planCheckQuery({ plan: typed ?? {}, device_tag: tag, pair: pair || null, cloud_data: cloud_data || null }),
    enabled: typed !== undefined,
  });
  const needed = checked?.problems.some(({ code }) => code === NEEDS_CLOUD_DATA) === true;
  const { setFieldValue } = form;
  useEffect(() => {
    const fitting = datasetFor(
      pairs?.find(({ id }) => id === pair),
      datasets ?? [],
    );
    if (needed && fitting !== undefined) setFieldValue("cloud_data", fitting.id);
  }, [needed, pair, pairs, datasets, setFieldValue]);
  const refusal = refusalOf(checked?.problems);
  const checking = isFetching || typed !== plan ? t`Its plan is being checked.` : undefined;
  const blocked =
    name.trim() === ""
      ? t`Give it a name first.`
      : pair === ""
        ? t`Choose its model pair first.`
        : (checking ?? refusal);
  return (
    <>
      <UnsavedChanges present={changed !== undefined || form.isDirty()} />
      <PageHead title="New federation" says="A set of devices that learn one task together, under one plan.">
        <Action
          action="federations.create_federation"
          label="Create"
          primary
          blocked={blocked}
          done="It waits to be started."
          changes={[FEDERATIONS]}
          onDone={(answer) =>
            navigate({
              to: "/federations/$id",
              params: { id: (answer as { data: Federation }).data.id },
              ignoreBlocker: true,
            })
          }
          call={(via) =>
            api.POST("/api/federations/", {
              body: {
                name,
                pair,
                device_tag,
                held_out: held_out || null,
                cloud_data: cloud_data || null,
                tolerance: tolerance / 100,
                patience: patience === "" ? null : patience,
                attempts,
                rounds_wanted: rounds_wanted === "" ? null : rounds_wanted,
                plan: plan ?? {},
                own_versions,
                seed: 0,
              },
              ...via,
            })
          }
        />
      </PageHead>
      <Permitted needs={{ action: "federations.create_federation" }}>
        {pairs?.length === 0 && (
          <Alert variant="light" color="yellow" title="No pair is ready yet" mb="lg">
            A federation learns the device model of a pair: submit and bootstrap one first, as the page Models says.
          </Alert>
        )}
        <Grid gap="lg">
          <Grid.Col span={{ base: 12, md: 4 }}>
            <Panel title="What it is">
              <Stack gap="sm">
                <TextInput label="Name" {...form.getInputProps("name")} />
                <Select
                  label="Model pair"
                  description="ready ones only"
                  data={pairs?.map((one) => ({ value: one.id, label: one.name })) ?? []}
                  nothingFoundMessage="No pair is ready."
                  searchable
                  {...form.getInputProps("pair")}
                  value={pair || null}
                />
                <TextInput
                  label="Devices with the tag"
                  placeholder="all devices"
                  {...form.getInputProps("device_tag")}
                />
                <Select
                  label="Held-out data"
                  description="what every candidate is measured with before it is published"
                  data={datasets?.map((one) => ({ value: one.id, label: one.name })) ?? []}
                  clearable
                  {...form.getInputProps("held_out")}
                  value={held_out || null}
                />
                <Select
                  label="Cloud data"
                  description="what the cloud model learns with, in plans that teach it"
                  data={datasets?.map((one) => ({ value: one.id, label: one.name })) ?? []}
                  clearable
                  {...form.getInputProps("cloud_data")}
                  value={cloud_data || null}
                />
                <TermsFields inputProps={form.getInputProps} />
                <NumberInput
                  label="Rounds"
                  description="after so many published ones it is finished; blank: it goes on"
                  min={1}
                  {...form.getInputProps("rounds_wanted")}
                />
                <Switch
                  label="Versions of its own"
                  description="for an A/B trial: it begins with the pair's version, and leaves that as it is"
                  {...form.getInputProps("own_versions", { type: "checkbox" })}
                />
              </Stack>
            </Panel>
          </Grid.Col>
          <Grid.Col span={{ base: 12, md: 8 }}>
            <Panel title="Its plan">
              <Stack gap="md">
                <Answer of={presets} height={90}>
                  {(known) => <PresetChoice presets={known} notes={notes} first={FIRST_PRESET} onChoose={setPlan} />}
                </Answer>
                <Answer of={useQuery(planSchemaQuery)} height={320}>
                  {(schema) => plan !== undefined && <PlanForm schema={schema} plan={plan} onChange={setPlan} />}
                </Answer>
                {checked?.traffic && <Traffic of={checked.traffic} />}
                {refusal !== undefined && <Misfit sentence={refusal} />}
                {checked !== undefined && checked.notes.length > 0 && (
                  <Alert variant="light" color="yellow" title="Before you create it">
                    {checked.notes.map((note) => (
                      <Text key={note} size="sm">
                        {note}
                      </Text>
                    ))}
                  </Alert>
                )}
              </Stack>
            </Panel>
          </Grid.Col>
        </Grid>
      </Permitted>
    </>
  );
}
