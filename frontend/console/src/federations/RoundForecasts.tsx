import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { ForecastChart } from "../chart/ForecastChart";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { duration } from "../components/units";
import { Calibrations } from "./Calibrations";
import { durationsOf } from "./forecasts";
import { type RoundForecast, roundForecastsQuery } from "./queries";

/** What rounds were expected to take as they opened, what they took, and how good these forecasts are. */
export function RoundForecasts({ federation }: { federation: string }) {
  const found = useQuery(roundForecastsQuery(federation));
  return (
    <Panel title="Rounds as they opened">
      <Answer of={found} height={160}>
        {({ forecasts, calibration }) =>
          forecasts.length === 0 ? (
            <Text size="sm" c="var(--quiet)">
              Rounds are forecast once twenty updates have come in.
            </Text>
          ) : (
            <Stack gap="md">
              <Drawn forecasts={forecasts} />
              <Calibrations of={calibration} />
            </Stack>
          )
        }
      </Answer>
    </Panel>
  );
}

function Drawn({ forecasts }: { forecasts: readonly RoundForecast[] }) {
  const rounds = useMemo(() => durationsOf(forecasts), [forecasts]);
  return <ForecastChart title="Duration of rounds" rounds={rounds} format={duration} />;
}
