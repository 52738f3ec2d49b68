import type { components } from "../api/schema";
import { counted } from "../components/units";
import { besideRows } from "../table/beside";
import { AccuracyOf, ChampionOf } from "./ChampionCells";
import type { Pair } from "./queries";

type Figures = components["schemas"]["PairFigures"];

export const { Beside: PairFigures, useBeside: useFigures } = besideRows<Figures>();

/** How exact the device model in use is, and how the latest came to be. */
export function ChampionAccuracy({ of }: { of: Pair }) {
  return <AccuracyOf figures={useFigures(of.id)} />;
}

export function Champion({ of }: { of: Pair }) {
  return <ChampionOf pair={of.id} figures={useFigures(of.id)} />;
}

export function Versions({ of }: { of: Pair }) {
  const versions = useFigures(of.id)?.versions;
  return <>{versions === undefined ? "–" : counted(versions)}</>;
}

export function Holders({ of }: { of: Pair }) {
  const devices = useFigures(of.id)?.devices;
  return <>{devices === undefined ? "–" : counted(devices)}</>;
}
