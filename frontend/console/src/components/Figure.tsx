import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Figure.module.css";

interface Props {
  readonly value: ReactNode;
  readonly label: string;
  readonly detail?: ReactNode;
  /** How it came about, beside it. */
  readonly line?: ReactNode;
}

/** One number with what it counts, and what it is made of. */
export function Figure({ value, label, detail, line }: Props) {
  return (
    <div className={classes.figure}>
      <div className={classes.top}>
        <Text component="span" className={classes.value}>
          {value}
        </Text>
        {line}
      </div>
      <Text component="span" size="sm" fw={550}>
        {label}
      </Text>
      {detail !== undefined && (
        <Text component="div" size="xs" c="var(--quiet)">
          {detail}
        </Text>
      )}
    </div>
  );
}
