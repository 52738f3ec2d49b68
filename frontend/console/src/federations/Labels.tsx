import { Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import type { components } from "../api/schema";
import { Answer } from "../components/Answer";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { counted, percent } from "../components/units";
import { t } from "../language/t";
import { labelsQuery } from "./queries";

type Found = components["schemas"]["Labels"];

/** Where the labels of a federation's devices are from, and what they cost their owners. */
export function Labels({ federation }: { federation: string }) {
  return (
    <Panel title="Who says what samples show?">
      <Answer of={useQuery(labelsQuery(federation))} height={120}>
        {(found) => <Shown found={found} />}
      </Answer>
    </Panel>
  );
}

function Shown({ found }: { found: Found }) {
  const { given, asked, implied, unlabelled, questions, answers } = found;
  if (found.telling === 0) {
    return (
      <Text size="sm" c="var(--quiet)">
        All samples came with their labels, as far as devices tell. Programs can hand samples without one to the agent,
        which asks the owner about those that the model is least certain of.
      </Text>
    );
  }
  const labelled = given + asked + implied;
  const samples = labelled + unlabelled;
  return (
    <>
      <Facts
        of={[
          [t`Labelled`, t`${shareOf(labelled, samples)} of ${counted(samples)} samples`],
          [t`Given with the sample`, counted(given)],
          [t`Seen by a program`, counted(implied)],
          [t`Said by an owner`, counted(asked)],
          [t`Questions`, t`${counted(questions)}, ${shareOf(answers, questions)} answered`],
        ]}
      />
      <Text size="xs" c="var(--quiet)" mt="xs">
        {counted(found.telling)} devices tell. The devices' owners set how many questions a day they are asked.
      </Text>
    </>
  );
}

const shareOf = (part: number, whole: number): string => (whole === 0 ? t`none` : percent(part / whole));
