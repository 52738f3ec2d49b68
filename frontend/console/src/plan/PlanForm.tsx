import { Accordion, Badge, Group, Stack, Text } from "@mantine/core";
import { t } from "../language/t";
import { KindForm } from "./KindForm";
import { KindSelect } from "./KindSelect";
import { kindWords } from "./kinds";
import { Definitions, type Schema, startOf, type Values } from "./schema";

type Plan = Readonly<Record<string, Values>>;
type PlanSchema = Readonly<Record<string, Readonly<Record<string, Schema>>>>;

const SLOTS: readonly (readonly [string, string])[] = [
  ["local", t`How does a device learn?`],
  ["codec", t`How does an update travel?`],
  ["privacy", t`What hides one device's update?`],
  ["pace", t`How many are asked, and when are updates merged?`],
  ["selection", t`Which devices are asked?`],
  ["topology", t`By what way do updates meet?`],
  ["merge", t`How do updates become a version?`],
  ["down", t`How does a version travel to devices?`],
  ["personal", t`Does a device keep a model of its own?`],
  ["help", t`Who helps a device whose model fails?`],
  ["groups", t`Does one model serve all?`],
  ["rollout", t`When does every device get a new version?`],
  ["fallback", t`Who answers where a device's own model does not?`],
  ["forgetting", t`What becomes of versions that hold a device which is forgotten?`],
];
const REQUIREMENTS = "requirements";

interface Props {
  readonly schema: PlanSchema;
  readonly plan: Plan;
  readonly onChange: (plan: Plan) => void;
}

/** A plan as forms, a kind in each slot; what each kind asks for comes from its own schema. */
export function PlanForm({ schema, plan, onChange }: Props) {
  return (
    <Accordion multiple variant="separated" chevronPosition="left">
      {SLOTS.map(([slot, question]) => (
        <Slot
          key={slot}
          slot={slot}
          question={question}
          kinds={schema[slot] ?? {}}
          values={plan[slot] ?? {}}
          onChange={(values) => onChange({ ...plan, [slot]: values })}
        />
      ))}
      <Accordion.Item value={REQUIREMENTS}>
        <Accordion.Control>
          <Text size="sm" fw={550}>
            What must hold on a device while it trains?
          </Text>
        </Accordion.Control>
        <Accordion.Panel>
          <KindForm
            schema={(schema[REQUIREMENTS] ?? {}) as Schema}
            values={plan[REQUIREMENTS] ?? {}}
            onChange={(values) => onChange({ ...plan, [REQUIREMENTS]: values })}
          />
        </Accordion.Panel>
      </Accordion.Item>
    </Accordion>
  );
}

interface SlotProps {
  readonly slot: string;
  readonly question: string;
  readonly kinds: Readonly<Record<string, Schema>>;
  readonly values: Values;
  readonly onChange: (values: Values) => void;
}

function Slot({ slot, question, kinds, values, onChange }: SlotProps) {
  const kind = typeof values.kind === "string" ? values.kind : "";
  const schema = kinds[kind];
  const definitions = schema === undefined ? undefined : new Definitions(schema);
  return (
    <Accordion.Item value={slot}>
      <Accordion.Control>
        <Group justify="space-between" gap="xs" pr="sm">
          <Text size="sm" fw={550}>
            {question}
          </Text>
          <Badge variant="light" tt="none" title={`${slot}: ${kind}`}>
            {kindWords(kind)}
          </Badge>
        </Group>
      </Accordion.Control>
      <Accordion.Panel>
        <Stack gap="md">
          <KindSelect
            label="Kind"
            description={definitions?.description}
            kinds={Object.keys(kinds)}
            value={kind}
            onChange={(next) => {
              const chosen = kinds[next];
              if (chosen !== undefined) onChange(startOf(next, new Definitions(chosen).fields));
            }}
          />
          {schema !== undefined && <KindForm schema={schema} values={values} onChange={onChange} />}
        </Stack>
      </Accordion.Panel>
    </Accordion.Item>
  );
}
