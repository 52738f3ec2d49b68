import { Tooltip } from "@mantine/core";
import { counted } from "../components/units";
import classes from "./ShareBar.module.css";

interface Props {
  /** Three at most, the one that matters first. */
  readonly parts: readonly { readonly words: string; readonly count: number }[];
}

/** What a number is made of, as a bar of one line's height; nothing of nothing. */
export function ShareBar({ parts }: Props) {
  if (parts.every(({ count }) => count === 0)) return null;
  const words = parts
    .filter(({ count }) => count > 0)
    .map(({ words, count }) => `${counted(count)} ${words}`)
    .join(", ");
  return (
    <Tooltip label={words}>
      <div className={classes.bar} role="img" aria-label={words}>
        {parts.map(({ words, count }) => (
          <div key={words} className={classes.part} style={{ flexGrow: count }} />
        ))}
      </div>
    </Tooltip>
  );
}
