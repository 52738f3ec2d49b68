import { SimpleGrid } from "@mantine/core";
import { Sparkline } from "../chart/Sparkline";
import { Figure } from "../components/Figure";
import { bytes, counted, percent } from "../components/units";
import { useFederationHue } from "../federations/hues";
import { latest, publishedByDay, readyDevices, sentByDay } from "./figures";
import type { Overview } from "./queries";

const WEEK = 7;

/** The four figures that one looks at first. */
export function Figures({ overview }: { overview: Overview }) {
  const hueOf = useFederationHue();
  const versions = latest(overview);
  const newest = versions.at(-1);
  const published = publishedByDay(overview);
  const sent = sentByDay(overview);
  const inAWeek = published.slice(-WEEK).reduce((sum, count) => sum + count, 0);
  return (
    <SimpleGrid cols={{ base: 2, md: 4 }} spacing="lg">
      <Figure
        value={counted(readyDevices(overview))}
        label="devices ready to train"
        detail={`of ${counted(overview.devices)} in the fleet`}
      />
      <Figure
        value={newest === undefined ? "–" : percent(newest.accuracy)}
        label="accuracy of the newest version"
        detail={newest === undefined ? "none is published yet" : newest.federation_name}
        line={<Sparkline values={versions.map(({ accuracy }) => accuracy)} hue={hueOf(newest?.federation ?? "")} />}
      />
      <Figure
        value={counted(inAWeek)}
        label="rounds published in seven days"
        detail={overview.active_rounds.length === 1 ? "1 under way" : `${overview.active_rounds.length} under way`}
        line={<Sparkline values={published} />}
      />
      <Figure
        value={bytes(sent.at(-1) ?? 0)}
        label="sent by devices today"
        detail="updates, portions and profiles"
        line={<Sparkline values={sent} />}
      />
    </SimpleGrid>
  );
}
