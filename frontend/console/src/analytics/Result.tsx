import { SimpleGrid, Text } from "@mantine/core";
import { useMemo } from "react";
import { BarChart } from "../chart/BarChart";
import { Figure } from "../components/Figure";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { t } from "../language/t";
import { epsilon } from "../privacy/queries";
import { count, errorOf, type QuestionDetail } from "./queries";

/** What the fleet answered: counts with their error, quantiles, and what that has cost. */
export function Result({ question }: { question: QuestionDetail }) {
  const series = useMemo(() => [{ label: "devices or samples", values: question.counts }], [question]);
  const quantiles = Object.entries(question.quantiles);
  return (
    <Panel title="Answer">
      <SimpleGrid cols={{ base: 1, xs: 3 }} spacing="lg" mb="md">
        <Figure value={counted(question.devices ?? 0)} label="devices" detail="are counted together" />
        <Figure
          value={question.deviation === 0 ? t`exact` : `±${count(2 * (question.deviation ?? 0))}`}
          label="error of a count"
          detail={errorOf(question)}
        />
        <Figure
          value={question.epsilon === null ? "–" : epsilon(question.epsilon)}
          label="epsilon"
          detail={question.epsilon === null ? "nothing was spent" : `of each device, at delta ${question.delta}`}
        />
      </SimpleGrid>
      <BarChart
        title="Answer by cell"
        names={question.cells}
        series={series}
        format={count}
        {...(question.deviation !== null && { deviation: question.deviation })}
      />
      {quantiles.length > 0 && (
        <Text size="sm" mt="sm">
          {quantiles
            .map(([share, value]) => {
              const percent = Number(share) * 100;
              return value === null ? t`${percent}% below an edge` : t`${percent}% below ${count(value)}`;
            })
            .join(", ")}
        </Text>
      )}
    </Panel>
  );
}
