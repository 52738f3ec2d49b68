import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { FROM_NOTHING, SHARE } from "../chart/bounds";
import { TimeChart } from "../chart/TimeChart";
import { numbers } from "../components/locale";
import { bytes } from "../components/units";
import { t } from "../language/t";
import { curveQuery, type Point } from "./queries";

const NUMBER = numbers({ maximumSignificantDigits: 3 });
const PERCENT = numbers({ style: "percent", maximumFractionDigits: 0 });

/** How the cloud model's training goes: its losses, and how fast its workers are. */
export function Curve({ id }: { id: string }) {
  const { data: points } = useQuery(curveQuery(id));
  const last = points?.at(-1);
  if (points === undefined || last === undefined) return null;
  const times = points.map((point) => Date.parse(point.at) / 1000);
  const line = (label: string, name: string) => ({
    label,
    values: points.map((point) => point.values[name] ?? null),
  });
  return (
    <Stack gap="sm">
      <Text size="sm">{speedOf(last)}</Text>
      {points.length > 1 && (
        <>
          <TimeChart
            title="Loss of the cloud model"
            times={times}
            series={[line(t`training`, "loss"), line(t`held back`, "validation_loss")]}
            format={NUMBER.format}
            bounds={FROM_NOTHING}
          />
          <TimeChart
            title="Share of time that communication took"
            times={times}
            series={[line(t`communication`, "communication_share")]}
            format={PERCENT.format}
            bounds={SHARE}
          />
        </>
      )}
    </Stack>
  );
}

/** The last epoch as a sentence. */
export function speedOf({ epoch, values }: Point): string {
  const workers = values.workers ?? 1;
  const samples = NUMBER.format(values.samples_per_second ?? 0);
  if (workers === 1) return t`Epoch ${epoch}: ${samples} samples a second, by one process.`;
  const share = PERCENT.format(values.communication_share ?? 0);
  const sent = bytes(values.sent_bytes ?? 0);
  return t`Epoch ${epoch}: ${samples} samples a second, by ${workers} workers; communication took ${share}, and each sent ${sent}.`;
}
