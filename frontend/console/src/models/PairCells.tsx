import { Anchor, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { components } from "../api/schema";
import { Sparkline } from "../chart/Sparkline";
import { counted, percent } from "../components/units";
import { besideRows } from "../table/beside";
import type { Pair } from "./queries";

type Figures = components["schemas"]["PairFigures"];

export const { Beside: PairFigures, useBeside: useFigures } = besideRows<Figures>();
const LINE = 72;

/** How exact the device model in use is, and how the latest came to be. */
export function ChampionAccuracy({ of }: { of: Pair }) {
  const figures = useFigures(of.id);
  const accuracy = figures?.champion?.accuracy;
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      <Sparkline values={figures?.accuracies ?? []} width={LINE} />
      {accuracy == null ? "–" : percent(accuracy)}
    </Group>
  );
}

export function Champion({ of }: { of: Pair }) {
  const champion = useFigures(of.id)?.champion;
  if (champion == null) return <>–</>;
  return (
    <Anchor
      component={Link}
      to={`/models/${of.id}`}
      search={{ version: champion.version } as never}
      size="sm"
      aria-label={`Version ${champion.number}`}
    >
      {champion.number}
    </Anchor>
  );
}

export function Versions({ of }: { of: Pair }) {
  const versions = useFigures(of.id)?.versions;
  return <>{versions === undefined ? "–" : counted(versions)}</>;
}

export function Holders({ of }: { of: Pair }) {
  const devices = useFigures(of.id)?.devices;
  return <>{devices === undefined ? "–" : counted(devices)}</>;
}
