import { Group, Title } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Panel.module.css";

/** A part of a page, with its own heading and tools. */
export function Panel({ title, tools, children }: { title: string; tools?: ReactNode; children: ReactNode }) {
  return (
    <section className={classes.panel} aria-label={title}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5">
          {title}
        </Title>
        {tools !== undefined && <Group gap="xs">{tools}</Group>}
      </Group>
      {children}
    </section>
  );
}
