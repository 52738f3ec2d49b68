import { Stack, Text } from "@mantine/core";
import { useMemo } from "react";
import { FROM_NOTHING, SHARE } from "../chart/bounds";
import { RoundChart } from "../chart/RoundChart";
import { numbers } from "../components/locale";
import { Panel } from "../components/Panel";
import { percent } from "../components/units";
import { t } from "../language/t";
import type { Alliance } from "./queries";
import { worthOf } from "./standing";

const NUMBER = numbers({ maximumSignificantDigits: 3 });

/** What each epoch brought, beside what the party with the labels reaches alone. */
export function Epochs({ alliance }: { alliance: Alliance }) {
  const { history, alone } = alliance;
  const { epochs, accuracy, loss } = useMemo(
    () => ({
      epochs: history.map(({ epoch }) => epoch),
      accuracy: [
        { label: t`together`, values: history.map(({ accuracy }) => accuracy) },
        ...(alone === null ? [] : [{ label: t`the party with the labels alone`, values: history.map(() => alone) }]),
      ],
      loss: [{ label: t`loss`, values: history.map(({ loss }) => loss) }],
    }),
    [history, alone],
  );
  return (
    <Panel title="Epochs">
      {history.length === 0 ? (
        <Text size="sm" c="var(--quiet)">
          No epoch has ended yet. After each the party with the labels tells the loss, and the accuracy on people held
          out.
        </Text>
      ) : (
        <Stack gap="sm">
          <Text size="sm">{worthOf(alliance)}</Text>
          <RoundChart
            title="Accuracy on people held out"
            counts="epoch"
            rounds={epochs}
            series={accuracy}
            format={percent}
            bounds={SHARE}
          />
          <RoundChart
            title="Loss in training"
            counts="epoch"
            rounds={epochs}
            series={loss}
            format={NUMBER.format}
            bounds={FROM_NOTHING}
          />
        </Stack>
      )}
    </Panel>
  );
}
