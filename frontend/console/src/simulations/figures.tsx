import { Group } from "@mantine/core";
import { Sparkline } from "../chart/Sparkline";
import { bytes, joules, percent } from "../components/units";
import { t } from "../language/t";
import type { Column } from "../table/DataTable";
import type { Run } from "./queries";

/** What a simulation found, in a few figures; all of them null before it has ended well. */
type Figured = Pick<
  Run,
  | "accuracy"
  | "accuracies"
  | "device_accuracy_median"
  | "device_accuracy_worst_decile"
  | "bytes_per_device"
  | "joules_per_device"
>;

const LINE = 72;

/** How exact the last version was, and how that came about. */
export function Accuracy({ of }: { of: Pick<Figured, "accuracy" | "accuracies"> }) {
  return (
    <Group gap="xs" wrap="nowrap" display="inline-flex">
      <Sparkline values={of.accuracies ?? []} width={LINE} />
      {of.accuracy === null ? "–" : percent(of.accuracy)}
    </Group>
  );
}

/** How exact it is for most devices, and for those that fare worst. */
export function onDevices(median: number | null, worst: number | null): string {
  return median === null || worst === null ? "–" : t`median ${percent(median)}, worst tenth ${percent(worst)}`;
}

/** Columns of a list of simulations. */
export const FIGURES: readonly Column<Figured>[] = [
  { id: "accuracy", header: "Accuracy", sort: "accuracy", align: "end", cell: (one) => <Accuracy of={one} /> },
  {
    id: "devices",
    header: "Accuracy on devices",
    sort: "device_accuracy_worst_decile",
    align: "end",
    cell: (one) => onDevices(one.device_accuracy_median, one.device_accuracy_worst_decile),
  },
  {
    id: "bytes",
    header: "Traffic a device",
    sort: "bytes_per_device",
    align: "end",
    cell: (one) => (one.bytes_per_device === null ? "–" : bytes(one.bytes_per_device)),
  },
  {
    id: "energy",
    header: "Energy a device",
    sort: "joules_per_device",
    align: "end",
    optional: true,
    cell: (one) => (one.joules_per_device === null ? "–" : joules(one.joules_per_device)),
  },
];
