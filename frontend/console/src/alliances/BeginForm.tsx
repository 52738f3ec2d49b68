import { Group, NumberInput, Select, Stack, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Form } from "../components/Form";
import { Panel } from "../components/Panel";
import { t } from "../language/t";
import { ALLIANCES, type Alliance, devicesNamedQuery, type HalfPair, type Halves } from "./queries";
import { protectionOf } from "./standing";

/** Has two devices train one network, once the owners of both agree. */
export function BeginForm({ halves, onBegun }: { halves: Halves; onBegun: (alliance: Alliance) => void }) {
  const form = useForm({
    initialValues: {
      name: "",
      columnsDevice: null as string | null,
      columnsVersion: null as string | null,
      labelsDevice: null as string | null,
      labelsVersion: null as string | null,
      epochs: 20 as number | string,
      rate: 0.05 as number | string,
      noise: 2 as number | string,
      held: 20 as number | string,
      least: 200 as number | string,
    },
  });
  const given = form.values;
  const blocked = whyNot(given, halves);
  const field = form.getInputProps;
  return (
    <Form>
      <Stack gap="lg">
        <Panel title="Who">
          <Stack gap="md">
            <TextInput
              label="Name"
              description="as people find it again"
              maxLength={100}
              maw={340}
              {...field("name")}
            />
            <Group align="flex-start" gap="md">
              <DeviceSelect label="Device with columns alone" {...field("columnsDevice")} />
              <HalfSelect label="Its half, the lower one" halves={halves.lower} {...field("columnsVersion")} />
            </Group>
            <Group align="flex-start" gap="md">
              <DeviceSelect label="Device that has the labels, too" {...field("labelsDevice")} />
              <HalfSelect label="Its half, the upper one" halves={halves.upper} {...field("labelsVersion")} />
            </Group>
          </Stack>
        </Panel>
        <Panel title="Terms">
          <Stack gap="md">
            <Group align="flex-start" gap="md">
              <NumberInput
                label="Epochs"
                description="each tells a little more"
                min={1}
                max={10_000}
                w={200}
                {...field("epochs")}
              />
              <NumberInput
                label="Learning rate"
                description="of the first epoch"
                min={0.0001}
                max={10}
                step={0.01}
                w={200}
                {...field("rate")}
              />
              <NumberInput
                label="Noise on gradients"
                description="times their mean length"
                min={0}
                max={100}
                step={0.5}
                w={200}
                {...field("noise")}
              />
              <NumberInput
                label="Held out, %"
                description="measured, never trained on"
                min={1}
                max={99}
                w={200}
                {...field("held")}
              />
              <NumberInput
                label="Least common people"
                description="with fewer it ends"
                min={2}
                max={100_000}
                w={200}
                {...field("least")}
              />
            </Group>
            <Text size="sm" role="status">
              {protectionOf(Number(given.noise))}
            </Text>
            {blocked !== undefined && (
              <Text size="sm" role="status">
                {blocked}
              </Text>
            )}
            <Group>
              <Action
                action="alliances.begin_alliance"
                label="Begin"
                primary
                blocked={blocked}
                done="It waits until the owners of both devices agree."
                changes={[ALLIANCES]}
                onDone={(answer) => onBegun((answer as { data: Alliance }).data)}
                call={(via) =>
                  api.POST("/api/alliances/", {
                    body: {
                      name: given.name.trim(),
                      columns_device: given.columnsDevice ?? "",
                      columns_version: given.columnsVersion ?? "",
                      labels_device: given.labelsDevice ?? "",
                      labels_version: given.labelsVersion ?? "",
                      terms: {
                        epochs: Number(given.epochs),
                        learning_rate: Number(given.rate),
                        noise: Number(given.noise),
                        held_share: Number(given.held) / 100,
                        least_rows: Number(given.least),
                      },
                    },
                    ...via,
                  })
                }
              />
            </Group>
          </Stack>
        </Panel>
      </Stack>
    </Form>
  );
}

interface Given {
  readonly name: string;
  readonly columnsDevice: string | null;
  readonly columnsVersion: string | null;
  readonly labelsDevice: string | null;
  readonly labelsVersion: string | null;
  readonly [number: string]: string | number | null;
}

/** Why it cannot be begun as it stands; undefined: it can. */
export function whyNot(given: Given, halves: Halves): string | undefined {
  if (halves.lower.length === 0)
    return t`There is no lower half: upload a pair with the loss “given_gradient”, and use its uploaded weights.`;
  if (halves.upper.length === 0)
    return t`There is no upper half: upload a pair whose recipe names a cut, and use its uploaded weights.`;
  if (given.name.trim() === "") return t`Give it a name.`;
  if (given.columnsDevice === null || given.labelsDevice === null) return t`Choose both devices.`;
  if (given.columnsDevice === given.labelsDevice) return t`An alliance is of two devices; choose another one.`;
  if (given.columnsVersion === null || given.labelsVersion === null) return t`Choose both halves of the network.`;
  return Object.values(given).includes("") ? t`Fill in every number.` : undefined;
}

interface SelectProps {
  readonly label: string;
  readonly value?: string | null;
  readonly onChange?: (value: string | null) => void;
}

function DeviceSelect({ label, value = null, onChange }: SelectProps) {
  const [typed, search] = useState("");
  const [chosen, keep] = useState<{ readonly value: string; readonly label: string } | null>(null);
  const { data: devices } = useQuery(devicesNamedQuery(typed === chosen?.label ? "" : typed.trim()));
  const found = devices?.map(({ id, name }) => ({ value: id, label: name })) ?? [];
  // What is chosen stays among them, whatever else is looked for.
  const others = chosen === null ? found : found.filter((one) => one.value !== chosen.value);
  return (
    <Select
      label={label}
      placeholder="Type a name"
      searchable
      data={chosen === null ? others : [chosen, ...others]}
      filter={({ options }) => options}
      onSearchChange={search}
      value={value}
      onChange={(next, option) => {
        keep(next === null ? null : { value: next, label: option?.label ?? "" });
        onChange?.(next);
      }}
      w={340}
      maw="100%"
    />
  );
}

function HalfSelect({ label, halves, ...field }: SelectProps & { readonly halves: readonly HalfPair[] }) {
  return (
    <Select
      label={label}
      placeholder="Choose a pair"
      data={halves.map(({ name, version }) => ({ value: version, label: name }))}
      w={340}
      maw="100%"
      {...field}
    />
  );
}
