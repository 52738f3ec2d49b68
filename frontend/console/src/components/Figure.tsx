import { Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Figure.module.css";

/** One number with what it counts, and what it is made of. */
export function Figure({ value, label, detail }: { value: ReactNode; label: string; detail?: ReactNode }) {
  return (
    <div className={classes.figure}>
      <Text component="span" className={classes.value}>
        {value}
      </Text>
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
