import { Anchor, Select, Stack, Switch, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { launcherChoices } from "../jobs/launchers";
import { JOBS, launchersQuery, strategySchemaQuery } from "../jobs/queries";
import { t } from "../language/t";
import { KindForm } from "../plan/KindForm";
import { KindSelect } from "../plan/KindSelect";
import { Definitions, startOf, type Values } from "../plan/schema";
import { fittingOf, leftOutOf, whyNoneFits } from "./fitting";
import { fittingQuery, PAIRS, type Pair, unreadyOf } from "./queries";

type BootstrapRequest = components["schemas"]["BootstrapRequest"];

const DEVICES = () => [
  { value: "auto", label: t`A free GPU, else cores` },
  { value: "cores", label: t`Cores` },
  { value: "gpus", label: t`GPUs alone` },
];

/** Has the cloud train a pair that has no version yet, with a data set that is chosen. */
export function Bootstrap({ pair }: { pair: Pair }) {
  const { data: datasets } = useQuery(fittingQuery(pair.id));
  const fitting = fittingOf(datasets ?? []);
  const [chosen, choose] = useState<string | null>(null);
  const { data: strategies } = useQuery(strategySchemaQuery);
  const [strategy, setStrategy] = useState<Values>({ kind: "one_process" });
  const { data: launchers } = useQuery(launchersQuery);
  const [launcher, launchBy] = useState("any");
  const [device, computeOn] = useState("auto");
  const [bf16, setBf16] = useState(false);
  const [compiled, setCompiled] = useState(false);
  const [endsEarly, endEarly] = useState(false);
  const schema = strategies?.[String(strategy.kind)];
  const dataset = chosen ?? fitting[0]?.id;
  const blocked =
    unreadyOf(pair) ?? (datasets === undefined ? t`The data sets are being fetched.` : whyNoneFits(datasets));
  return (
    <Action
      action="cloud_training.bootstrap_pair"
      label="Bootstrap"
      primary
      blocked={blocked}
      wide
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            The cloud model learns the data set, then the first device model learns from it. Jobs tells how far it is.
          </Text>
          <Select
            label="Data set"
            description={leftOutOf(datasets ?? [])}
            data={fitting.map((one) => ({ value: one.id, label: one.name }))}
            value={dataset ?? null}
            allowDeselect={false}
            onChange={choose}
          />
          <Anchor component={Link} to="/models/datasets" size="sm">
            Upload another data set
          </Anchor>
          <KindSelect
            label="Strategy"
            description={schema === undefined ? undefined : new Definitions(schema).description}
            kinds={Object.keys(strategies ?? {})}
            value={String(strategy.kind)}
            onChange={(kind) => {
              const next = strategies?.[kind];
              if (next !== undefined) setStrategy(startOf(kind, new Definitions(next).fields));
            }}
          />
          <Switch
            label="End when the loss curve is flat"
            description="As soon as the remaining epochs promise less than 0.1% of the loss; the best epoch so far is kept."
            checked={endsEarly}
            onChange={(event) => endEarly(event.currentTarget.checked)}
          />
          {schema !== undefined && <KindForm schema={schema} values={strategy} onChange={setStrategy} />}
          <Select
            label="Computes on"
            description="A free GPU is for a worker that is alone. Where GPUs alone will do, each worker waits for one of its own."
            data={DEVICES()}
            value={device}
            allowDeselect={false}
            onChange={(chosen) => chosen !== null && computeOn(chosen)}
          />
          <Switch
            label="bf16"
            description="Matrix products of 16 bits: quicker on GPUs that have them. Parameters and the loss stay in float32."
            checked={bf16}
            onChange={(event) => setBf16(event.currentTarget.checked)}
          />
          <Switch
            label="Compile the model"
            description="By torch.compile, for half a minute or longer before the first step: it pays where steps are many."
            checked={compiled}
            onChange={(event) => setCompiled(event.currentTarget.checked)}
          />
          <Select
            label="Launcher"
            description="Who starts the workers. Hosts start them in children, and with other hosts by their queues; the scheduler of another cluster starts them there."
            data={launcherChoices(launchers ?? [])}
            value={launcher}
            allowDeselect={false}
            onChange={(chosen) => chosen !== null && launchBy(chosen)}
          />
        </Stack>
      }
      done="It is trained as soon as the cloud is free."
      changes={[PAIRS, JOBS]}
      call={(via) =>
        api.POST("/api/pairs/{id}/bootstrap/", {
          params: { path: { id: pair.id } },
          body: {
            dataset,
            strategy,
            launcher,
            device,
            precision: bf16 ? "bf16" : "float32",
            compiled,
            least_gain: endsEarly ? 0.001 : 0,
          } as BootstrapRequest, // everything else has a default
          ...via,
        })
      }
    />
  );
}
