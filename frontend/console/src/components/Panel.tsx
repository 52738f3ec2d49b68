import { Group, Title } from "@mantine/core";
import type { ReactNode } from "react";
import { Form } from "./Form";
import classes from "./Panel.module.css";

interface Props {
  readonly title: string;
  readonly tools?: ReactNode;
  /** As high as what stands beside it. */
  readonly fills?: boolean;
  /** Whether it holds a form: Enter in a field presses its `primary` action. */
  readonly asks?: boolean;
  readonly children: ReactNode;
}

/** A part of a page, with its own heading and tools. */
export function Panel({ title, tools, fills = false, asks = false, children }: Props) {
  return (
    <section className={classes.panel} aria-label={title} data-fills={fills || undefined}>
      <Group justify="space-between" mb="sm" gap="xs">
        <Title order={2} size="h5">
          {title}
        </Title>
        {tools !== undefined && <Group gap="xs">{tools}</Group>}
      </Group>
      {asks ? <Form>{children}</Form> : children}
    </section>
  );
}
