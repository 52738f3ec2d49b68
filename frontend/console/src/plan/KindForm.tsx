import {
  Button,
  Checkbox,
  Fieldset,
  Group,
  Select,
  SimpleGrid,
  Stack,
  Switch,
  TagsInput,
  Text,
  TextInput,
} from "@mantine/core";
import { t } from "../language/t";
import { DurationField } from "./DurationField";
import { KindSelect } from "./KindSelect";
import { NumberField } from "./NumberField";
import {
  Definitions,
  defaultsOf,
  drawnAs,
  fieldsOf,
  labelOf,
  misfit,
  misfitDuration,
  type Schema,
  startOf,
  type Values,
} from "./schema";

interface Props {
  readonly schema: Schema;
  readonly values: Values;
  /** Whether two fields stand side by side where there is room. */
  readonly paired?: boolean;
  readonly onChange: (values: Values) => void;
}

/** The form of one kind, drawn from its schema: unit and range at each field, checked while one types. */
export function KindForm({ schema, values, paired, onChange }: Props) {
  const definitions = new Definitions(schema);
  return <Fields {...{ definitions, fields: definitions.fields, values, paired: paired === true, onChange }} />;
}

interface FieldsProps {
  readonly definitions: Definitions;
  readonly fields: readonly (readonly [string, Schema])[];
  readonly values: Values;
  /** What stands in a number that may be left out. */
  readonly unset?: string;
  /** Whether two fields stand side by side where there is room. */
  readonly paired?: boolean;
  readonly onChange: (values: Values) => void;
}

function Fields({ definitions, fields, values, unset = t`any`, paired = false, onChange }: FieldsProps) {
  if (fields.length === 0) {
    return (
      <Text size="sm" c="var(--quiet)">
        Nothing to set.
      </Text>
    );
  }
  return (
    <SimpleGrid cols={{ base: 1, xs: paired ? 2 : 1 }} spacing="sm" verticalSpacing="sm" style={{ alignItems: "end" }}>
      {fields.map(([name, schema]) => (
        <Input
          key={name}
          name={name}
          schema={schema}
          definitions={definitions}
          value={values[name]}
          unset={unset}
          onChange={(value) => onChange({ ...values, [name]: value })}
        />
      ))}
    </SimpleGrid>
  );
}

/** A duration's description, which begins with its unit for programs. */
function withoutUnit(description: string | undefined): string | undefined {
  return description?.replace(/^seconds\b/, "time");
}

interface InputProps {
  readonly name: string;
  readonly schema: Schema;
  readonly definitions: Definitions;
  readonly value: unknown;
  readonly unset: string;
  readonly onChange: (value: unknown) => void;
}

function Input({ name, schema, definitions, value, unset, onChange }: InputProps) {
  const field = drawnAs(name, definitions.fieldOf(schema));
  const words = { label: labelOf(name), description: schema.description };
  switch (field.as) {
    case "duration":
      return (
        <DurationField
          {...words}
          description={withoutUnit(schema.description)}
          value={value}
          onChange={onChange}
          error={misfitDuration(value, field.schema, field.optional)}
          placeholder={field.optional ? unset : undefined}
          maw={420}
        />
      );
    case "number":
      return (
        <NumberField
          {...words}
          value={value}
          onChange={onChange}
          allowDecimal={!field.whole}
          error={misfit(value, field.schema, field.whole, field.optional)}
          placeholder={field.optional ? unset : undefined}
          maw={420}
        />
      );
    case "choice":
      return (
        <Select
          {...words}
          data={[...field.of]}
          value={typeof value === "string" ? value : null}
          allowDeselect={false}
          onChange={onChange}
          maw={420}
        />
      );
    case "switch":
      return <Switch {...words} checked={value === true} onChange={(event) => onChange(event.currentTarget.checked)} />;
    case "pair":
      return <Pair words={words} parts={field.parts} optional={field.optional} value={value} onChange={onChange} />;
    case "kind":
      return <Nested {...{ words, kinds: field.kinds, definitions, value, onChange }} />;
    case "rows":
      return <Rows {...{ words, row: field.row, most: field.most, definitions, value, onChange }} />;
    case "list": {
      const numbers = field.of === "numbers";
      return (
        <TagsInput
          {...words}
          placeholder="press Enter after each"
          value={Array.isArray(value) ? value.map(String) : []}
          onChange={(typed) => {
            const kept = numbers ? typed.map(Number).filter((one) => !Number.isNaN(one)) : typed;
            onChange(kept.length === 0 && field.optional ? null : kept);
          }}
          allowDuplicates={numbers}
          maw={420}
        />
      );
    }
    case "text":
      return (
        <TextInput
          {...words}
          value={typeof value === "string" ? value : JSON.stringify(value)}
          onChange={(event) => onChange(event.currentTarget.value)}
          maw={420}
        />
      );
  }
}

interface Words {
  readonly label: string;
  readonly description: string | undefined;
}

/** A range, such as hours of the day. */
function Pair({
  words,
  parts,
  optional,
  value,
  onChange,
}: {
  words: Words;
  parts: readonly Schema[];
  optional: boolean;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const set = Array.isArray(value);
  const ends: readonly unknown[] = set ? value : parts.map((part) => part.minimum ?? 0);
  return (
    <Fieldset legend={words.label} maw={420}>
      <Text size="xs" c="var(--quiet)" mb="xs">
        {words.description}
      </Text>
      <Group gap="sm">
        {optional && (
          <Checkbox
            label="only then"
            checked={set}
            onChange={(event) => onChange(event.currentTarget.checked ? ends : null)}
          />
        )}
        {set &&
          ends.map((end, index) => (
            <NumberField
              // biome-ignore lint/suspicious/noArrayIndexKey: the place in the pair is what the field is
              key={index}
              aria-label={`${words.label}, ${index === 0 ? "from" : "to"}`}
              value={end}
              allowDecimal={false}
              error={misfit(end, parts[index] ?? {}, true, false)}
              onChange={(typed) => onChange(ends.map((one, at) => (at === index ? typed : one)))}
              w={90}
            />
          ))}
      </Group>
    </Fieldset>
  );
}

/** A kind within a kind: which one, and its own fields. */
function Nested({
  words,
  kinds,
  definitions,
  value,
  onChange,
}: {
  words: Words;
  kinds: Readonly<Record<string, Schema>>;
  definitions: Definitions;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const values = (typeof value === "object" && value !== null ? value : {}) as Values;
  const kind = typeof values.kind === "string" ? values.kind : "";
  const schema = kinds[kind];
  return (
    <Fieldset legend={words.label}>
      <Stack gap="sm">
        <KindSelect
          aria-label={words.label}
          description={words.description}
          kinds={Object.keys(kinds)}
          value={kind}
          onChange={(next) => {
            const chosen = kinds[next];
            if (chosen !== undefined) onChange(startOf(next, fieldsOf(chosen)));
          }}
        />
        {schema !== undefined && (
          <Fields definitions={definitions} fields={fieldsOf(schema)} values={values} onChange={onChange} />
        )}
      </Stack>
    </Fieldset>
  );
}

/** Things with the same fields, one after another, such as the phases of a roll-out. */
function Rows({
  words,
  row,
  most,
  definitions,
  value,
  onChange,
}: {
  words: Words;
  row: Schema;
  most: number;
  definitions: Definitions;
  value: unknown;
  onChange: (value: unknown) => void;
}) {
  const rows: readonly Values[] = Array.isArray(value) ? value : [];
  const fields = fieldsOf(row);
  return (
    <Fieldset legend={words.label} p="sm" style={{ gridColumn: "1 / -1" }}>
      <Stack gap="sm">
        <Text size="xs" c="var(--quiet)">
          {words.description}
        </Text>
        {rows.map((values, at) => (
          <Fieldset
            // biome-ignore lint/suspicious/noArrayIndexKey: the place in the list is what the row is
            key={at}
            aria-label={t`${words.label}: ${at + 1} of ${rows.length}`}
            variant="filled"
            p="sm"
          >
            <Stack gap="sm">
              <Fields
                definitions={definitions}
                fields={fields}
                values={values}
                unset=""
                paired
                onChange={(next) => onChange(rows.map((one, place) => (place === at ? next : one)))}
              />
              <Group>
                <Button
                  size="xs"
                  variant="default"
                  aria-label={t`Remove ${at + 1} of ${rows.length}`}
                  onClick={() => onChange(rows.filter((_, place) => place !== at))}
                >
                  Remove
                </Button>
              </Group>
            </Stack>
          </Fieldset>
        ))}
        {rows.length < most && (
          <Group>
            <Button size="xs" variant="default" onClick={() => onChange([...rows, defaultsOf(fields)])}>
              {rows.length === 0 ? t`Add one` : t`Add another`}
            </Button>
          </Group>
        )}
      </Stack>
    </Fieldset>
  );
}
