import { Grid, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { BarChart } from "../chart/BarChart";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { counted, percent } from "../components/units";
import { t } from "../language/t";
import { type Federation, type PersonalModels as Found, personalModelsQuery } from "./queries";

const TENTHS = Array.from({ length: 10 }, (_tenth, index) => `${index * 10}–${index * 10 + 10}%`);

/** Whom models of their own serve: what answers on the devices against the version, on samples that they hold out. */
export function PersonalModels({ federation }: { federation: Federation }) {
  return (
    <Answer of={useQuery(personalModelsQuery(federation.id))} height={260}>
      {(found) => (found.count === 0 ? <Untold trained={found.trained} /> : <Compared found={found} />)}
    </Answer>
  );
}

const UNTOLD = {
  "between rounds": t`Each device trains one beside the version when it next may, and tells how both do on samples that it holds out. Devices of agent 0.1, and those with fewer than ten samples, train none; owners may keep figures to themselves.`,
  "in rounds": t`Under this plan each device trains its own in the rounds that it has part in, and then tells how it and the version do on samples that it holds out. Owners may keep figures to themselves, and under secure aggregation nothing is told.`,
};

function Untold({ trained }: { trained: Found["trained"] }) {
  return (
    <Empty title="No personal model yet">
      {trained === null
        ? "Under this plan devices train no model of their own beside the version. Where people differ, answer “Does a device keep a model of its own?” in the plan with fine-tuned or Ditto."
        : UNTOLD[trained]}
    </Empty>
  );
}

function Compared({ found }: { found: Found }) {
  const { answers, version } = found;
  const share = t`${counted(found.answering)} of ${counted(found.count)}`;
  return (
    <Grid gap="lg">
      <Grid.Col span={{ base: 12, md: 7 }}>
        <Panel title="Devices by accuracy">
          {answers === null || version === null ? (
            <Text size="sm" c="var(--quiet)">
              Their task has no right and wrong, so there are no accuracies to draw.
            </Text>
          ) : (
            <BarChart
              title="Devices by accuracy on samples held out"
              names={TENTHS}
              series={[
                { label: "the version", values: version.tenths },
                { label: "what answers", values: answers.tenths },
              ]}
            />
          )}
        </Panel>
      </Grid.Col>
      <Grid.Col span={{ base: 12, md: 5 }}>
        <Panel title="Own against champion">
          <Facts
            of={[
              [t`Answer with their own`, share],
              [t`Median device`, pair(version?.median, answers?.median)],
              [t`Worst tenth`, pair(version?.worst_decile, answers?.worst_decile)],
            ]}
          />
          <Text size="xs" c="var(--quiet)" mt="xs">
            Accuracy of the version, then of what answers the owner, on the same samples, as devices told last. A device
            answers with its own only where that is not worse.
          </Text>
        </Panel>
      </Grid.Col>
    </Grid>
  );
}

function pair(before: number | undefined, after: number | undefined): string {
  return before === undefined || after === undefined ? t`not told` : `${percent(before)} → ${percent(after)}`;
}
