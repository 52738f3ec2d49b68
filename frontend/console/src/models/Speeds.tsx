import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { counted, duration } from "../components/units";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { type ClassSpeed, nameOfClass, type SpeedClass, saidOf, speedClassesQuery } from "./speeds";

/** How quick devices are, in the classes that their own figures divide them into; nothing before any has told. */
export function Speeds({ pair }: { pair: string }) {
  return (
    <Answer of={useQuery(speedClassesQuery(pair))} height={120}>
      {(classes) =>
        classes.length > 0 && (
          <Panel title="Speed on devices">
            <Stack gap="lg">
              <Text size="sm">{derivationOf(classes[0]?.compared_by ?? "predict")}</Text>
              {classes.map((one, place) => (
                <Stack key={one.from_s} gap="xs">
                  <Text size="sm">
                    {nameOfClass(place, classes.length)}:{" "}
                    {one.devices === 1 ? "1 device" : `${counted(one.devices)} devices`}
                    <Text component="span" size="sm" c="var(--quiet)">
                      , {one.machines.join("; ")}; their medians lie from {duration(one.from_s)} to {duration(one.to_s)}
                    </Text>
                  </Text>
                  <SmallTable
                    label={`Times of the class ${nameOfClass(place, classes.length)}`}
                    columns={COLUMNS}
                    rows={one.speeds}
                    rowKey={(row) => `${row.work} ${row.form} ${row.charging}`}
                    minWidth={520}
                  />
                </Stack>
              ))}
            </Stack>
          </Panel>
        )
      }
    </Answer>
  );
}

/** What the classes are made from. */
function derivationOf(by: SpeedClass["compared_by"]): string {
  return by === "step"
    ? t`Devices are put in order by their own median of a train step with float32; a class ends where the next device takes more than 1.4 times as long.`
    : t`Devices are put in order by their own median of a prediction with float32; a class ends where the next device takes more than 1.4 times as long.`;
}

const COLUMNS: readonly SmallColumn<ClassSpeed>[] = [
  { header: "What", cell: saidOf },
  { header: "Devices", align: "end", cell: ({ devices }) => counted(devices) },
  { header: "Half within", align: "end", cell: ({ p50_s }) => duration(p50_s) },
  { header: "90% within", align: "end", cell: ({ p90_s }) => duration(p90_s) },
  { header: "99% within", align: "end", cell: ({ p99_s }) => duration(p99_s) },
];
