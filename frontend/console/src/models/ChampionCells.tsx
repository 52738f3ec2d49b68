import { Anchor, Group } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Sparkline } from "../chart/Sparkline";
import { percent } from "../components/units";

const LINE = 72;

interface Figures {
  readonly champion: { readonly version: string; readonly number: number; readonly accuracy?: number | null } | null;
  readonly accuracies: readonly (number | null)[];
}

/** How exact the version in use is, and how the latest came to be. */
export function AccuracyOf({ figures, hue }: { figures: Figures | undefined; hue?: number | undefined }) {
  const accuracy = figures?.champion?.accuracy;
  return (
    <Group gap="xs" wrap="nowrap" justify="flex-end">
      <Sparkline values={figures?.accuracies ?? []} width={LINE} hue={hue} />
      {accuracy == null ? "–" : percent(accuracy)}
    </Group>
  );
}

/** The version in use of `pair`, which leads to it. */
export function ChampionOf({ pair, figures }: { pair: string; figures: Figures | undefined }) {
  const champion = figures?.champion;
  if (champion == null) return <>–</>;
  return (
    <Anchor
      component={Link}
      to={`/models/${pair}`}
      search={{ version: champion.version } as never}
      size="sm"
      aria-label={`Version ${champion.number}`}
    >
      {champion.number}
    </Anchor>
  );
}
