import {
  Autocomplete,
  Code,
  Group,
  MultiSelect,
  NumberInput,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from "@mantine/core";
import { useForm } from "@mantine/form";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { ChangeDialog } from "../components/ChangeDialog";
import { Form } from "../components/Form";
import { federationsQuery } from "../federations/queries";
import { t } from "../language/t";
import { channelsQuery, RULES, type Rule, type RuleKind, type Severity } from "./queries";
import { FAULTS, RULE_KINDS, SEVERITIES, toPlatform, UNITS, WATCHED } from "./words";

interface Values {
  readonly name: string;
  readonly kind: RuleKind;
  /** As it is shown: shares in percent. */
  readonly threshold: number | string;
  readonly code: string;
  readonly least: Severity;
  readonly severity: Severity;
  readonly federation: string | null;
  readonly channels: string[];
}

/** A new rule, or one that is changed; its kind stays. */
export function RuleForm({ rule, onDone }: { rule?: Rule | undefined; onDone: () => void }) {
  const form = useForm<Values>({ initialValues: valuesOf(rule) });
  const { name, kind, threshold, channels } = form.values;
  const watched = WATCHED[kind];
  const { data: known } = useQuery(channelsQuery({}));
  const { data: federations } = useQuery(federationsQuery());
  const compares = watched.threshold;
  const body = bodyOf(form.values);
  const blocked =
    name.trim() === ""
      ? t`Give the rule a name first.`
      : compares !== undefined && typeof threshold !== "number"
        ? t`Say how much is too much.`
        : channels.length === 0
          ? t`Choose a channel that is told.`
          : undefined;
  const fields = (
    <Form>
      <Stack gap="sm" align="flex-start">
        <SimpleGrid cols={{ base: 1, sm: 2, lg: 3 }} w="100%" verticalSpacing="sm">
          <TextInput
            label="Name"
            description="what messages call it"
            placeholder="kiosks are online"
            disabled={rule !== undefined}
            {...form.getInputProps("name")}
          />
          <Select
            label="Watch for"
            description={watched.help}
            data={RULE_KINDS}
            allowDeselect={false}
            disabled={rule !== undefined}
            {...form.getInputProps("kind")}
            onChange={(chosen) => {
              const next = chosen as RuleKind;
              form.setValues({
                kind: next,
                threshold: WATCHED[next].threshold?.usual ?? "",
                code: "",
                federation: null,
              });
            }}
          />
          {compares !== undefined && (
            <NumberInput
              label={compares.label}
              description="told when it is worse than this"
              suffix={` ${UNITS[compares.unit]}`}
              min={0}
              max={compares.unit === "%" ? 100 : 1_000_000}
              {...form.getInputProps("threshold")}
            />
          )}
          {watched.narrow && (
            <Select
              label="Federation"
              description="blank: all of them, and the whole fleet"
              placeholder="all"
              clearable
              searchable
              data={federations?.results.map(({ id, name }) => ({ value: id, label: name })) ?? []}
              {...form.getInputProps("federation")}
            />
          )}
          {kind === "repair" && (
            <>
              <Autocomplete
                label="Which fault"
                description="its kind, or the code of its reason; blank: any"
                placeholder="any"
                data={Object.keys(FAULTS)}
                renderOption={({ option: { value } }) => (
                  <Group justify="space-between" wrap="nowrap" w="100%">
                    {FAULTS[value]}
                    <Code>{value}</Code>
                  </Group>
                )}
                {...form.getInputProps("code")}
              />
              <Select
                label="How bad"
                description="what is told at least"
                data={[
                  { value: "error", label: "errors" },
                  { value: "warning", label: "warnings and errors" },
                ]}
                allowDeselect={false}
                {...form.getInputProps("least")}
              />
            </>
          )}
          {compares !== undefined && (
            <Select
              label="It is"
              description="how messages mark it"
              data={[...SEVERITIES]}
              allowDeselect={false}
              {...form.getInputProps("severity")}
            />
          )}
          <MultiSelect
            label="Tell"
            description="once when it begins, once when it is over"
            data={known?.results.map(({ id, name }) => ({ value: String(id), label: name })) ?? []}
            placeholder={channels.length === 0 ? "channels" : ""}
            {...form.getInputProps("channels")}
          />
        </SimpleGrid>
        {known?.count === 0 && (
          <Text size="sm" c="var(--quiet)">
            There is no channel yet: an administrator makes one under Channels.
          </Text>
        )}
        {rule === undefined ? (
          <Action
            action="alerts.create_rule"
            label="Make a rule"
            primary
            blocked={blocked}
            done={`${name} is looked at within a quarter of a minute.`}
            changes={[RULES]}
            onDone={form.reset}
            call={(via) => api.POST("/api/alert-rules/", { body: { name, kind, ...body }, ...via })}
          />
        ) : (
          <Action
            action="alerts.change_rule"
            label="Keep the changes"
            primary
            blocked={blocked}
            changes={[RULES]}
            onDone={onDone}
            call={(via) => api.PATCH("/api/alert-rules/{id}/", { params: { path: { id: rule.id } }, body, ...via })}
          />
        )}
      </Stack>
    </Form>
  );
  return rule === undefined ? (
    fields
  ) : (
    <ChangeDialog title={t`Change ${rule.name}`} changed={form.isDirty()} onClose={onDone}>
      {fields}
    </ChangeDialog>
  );
}

function valuesOf(rule: Rule | undefined): Values {
  if (rule === undefined) {
    const blank = { name: "", threshold: "", code: "", federation: null, channels: [] };
    return { ...blank, kind: "repair", least: "error", severity: "warning" };
  }
  const { name, kind, threshold, code = "", least = "warning", severity = "warning", federation, channels } = rule;
  const whole = WATCHED[kind].threshold?.unit === "%" ? Number(((threshold ?? 0) * 100).toFixed(4)) : (threshold ?? "");
  return {
    ...{ name, kind, code, least, severity },
    threshold: whole,
    federation: federation ?? null,
    channels: channels.map(String),
  };
}

function bodyOf({ kind, threshold, code, least, severity, federation, channels }: Values) {
  return {
    ...{ code, least, severity, federation },
    threshold: typeof threshold === "number" ? toPlatform(kind, threshold) : null,
    channels: channels.map(Number),
  };
}
