import { Group, Text } from "@mantine/core";
import classes from "./Legend.module.css";
import type { Key } from "./poster";

/** What the colours of a chart mean. Who hears the page hears it with the values. */
export function Legend({ keys }: { keys: readonly Key[] }) {
  if (keys.length === 0) return null;
  return (
    <Group gap="4px 16px" mt={4} aria-hidden>
      {keys.map(({ words, colour, opacity }) => (
        <Text key={words} size="xs" component="span" c="var(--quiet)">
          <Swatch colour={colour} opacity={opacity} /> {words}
        </Text>
      ))}
    </Group>
  );
}

/** A dot in a colour of the page. */
export function Swatch({ colour, opacity = 1 }: { colour: string; opacity?: number | undefined }) {
  return <span className={classes.swatch} style={{ background: `var(${colour})`, opacity }} />;
}
