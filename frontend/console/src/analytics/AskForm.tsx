import { Group, NumberInput, Select, Stack, Switch, TagsInput, Text, TextInput } from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Panel } from "../components/Panel";
import { federationsQuery } from "../federations/queries";
import { t } from "../language/t";
import { DurationField } from "../plan/DurationField";
import { misfitDuration, type Schema } from "../plan/schema";
import { PRIVACY } from "../privacy/queries";
import { AMONG, ANALYTICS, type Asking, contentOf, hasBins, QUESTIONS, type QuestionDetail } from "./queries";

const WITHIN: Schema = { minimum: 60, maximum: 604_800 };

/** Asks the devices of a federation. */
export function AskForm({ onAsked }: { onAsked: (question: QuestionDetail) => void }) {
  const { data: federations } = useQuery(federationsQuery());
  const form = useForm({
    initialValues: {
      federation: "",
      title: "",
      of: "classes" as Asking["of"],
      among: "all",
      classes: 10,
      most: 100,
      entries: [] as string[],
      minDevices: 10,
      devices: 20,
      noise: true,
      epsilon: 1,
      within: 600 as number | string | null,
    },
  });
  const given = form.values;
  const content = contentOf(given);
  const untimely = misfitDuration(given.within, WITHIN, false);
  const unready =
    given.federation === ""
      ? t`Choose a federation.`
      : content === undefined
        ? hasBins(given.of)
          ? t`Give the edges of the bins, ascending.`
          : t`Give the words to be counted.`
        : untimely;
  return (
    <Panel title="Ask a fleet">
      <Stack gap="sm">
        <Group align="flex-end" gap="sm">
          <Select
            label="Whom"
            placeholder="federation"
            data={federations?.results.map(({ id, name }) => ({ value: id, label: name })) ?? []}
            {...form.getInputProps("federation")}
          />
          <Select
            label="What"
            data={[...QUESTIONS]}
            allowDeselect={false}
            w={300}
            {...form.getInputProps("of")}
            onChange={(value) => form.setValues({ of: (value ?? "classes") as Asking["of"], entries: [] })}
          />
          <Select label="Among" data={[...AMONG]} allowDeselect={false} w={300} {...form.getInputProps("among")} />
          <TextInput label="Title" placeholder="as lists show it" {...form.getInputProps("title")} />
        </Group>
        <Group align="flex-end" gap="sm">
          {given.of === "classes" ? (
            <>
              <NumberInput label="Classes" min={1} max={4096} w={110} {...form.getInputProps("classes")} />
              <NumberInput
                label="Samples that a device counts"
                description="at most; noise grows with it"
                min={1}
                max={10_000}
                w={210}
                {...form.getInputProps("most")}
              />
            </>
          ) : (
            <TagsInput
              label={hasBins(given.of) ? "Edges of the bins" : "Words that are counted"}
              placeholder="press Enter after each"
              description={hasBins(given.of) ? "numbers, ascending" : "others are counted together"}
              {...form.getInputProps("entries")}
            />
          )}
        </Group>
        <Group align="flex-end" gap="sm">
          <NumberInput
            label="Devices at least"
            description="fewer are never summed"
            min={3}
            max={2500}
            w={170}
            {...form.getInputProps("minDevices")}
          />
          <NumberInput
            label="Devices at most"
            description="near the least: less noise"
            min={3}
            max={2500}
            w={170}
            {...form.getInputProps("devices")}
          />
          <DurationField
            label="Time to join"
            w={130}
            value={given.within}
            onChange={(within) => form.setFieldValue("within", within)}
            error={untimely}
          />
          <Switch label="With noise" mb={8} {...form.getInputProps("noise", { type: "checkbox" })} />
          {given.noise && (
            <NumberInput
              label="Epsilon"
              description="what the budget pays"
              min={0.001}
              max={100}
              step={0.5}
              w={150}
              {...form.getInputProps("epsilon")}
            />
          )}
        </Group>
        <Text size="sm" c="var(--quiet)">
          {given.noise
            ? "Each device counts for itself, where its owner agrees; the platform reads the sum alone, with noise that the devices add."
            : "Each device counts for itself, where its owner agrees; the platform reads the sum alone. Without noise nothing is guaranteed beyond that."}
        </Text>
        <Group>
          <Action
            action="analytics.ask_question"
            label="Ask"
            primary
            blocked={unready}
            done="The devices are asked."
            changes={[ANALYTICS, PRIVACY]}
            onDone={(answer) => onAsked((answer as { data: QuestionDetail }).data)}
            call={(via) =>
              api.POST("/api/analytics/", {
                body: {
                  federation: given.federation,
                  title: given.title,
                  content: content ?? {},
                  epsilon: given.noise ? Number(given.epsilon) : null,
                  devices: Number(given.devices),
                  within_s: Number(given.within),
                },
                ...via,
              })
            }
          />
        </Group>
      </Stack>
    </Panel>
  );
}
