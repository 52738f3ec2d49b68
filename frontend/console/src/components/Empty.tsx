import { Stack, Text } from "@mantine/core";
import type { ReactNode } from "react";
import classes from "./Empty.module.css";

/** Nothing yet, why, and what to do to change it. */
export function Empty({ title, children }: { title: string; children: ReactNode }) {
  return (
    <Stack gap="xs" align="flex-start" className={classes.empty}>
      <Text fw={650}>{title}</Text>
      <Text size="sm" c="var(--quiet)" component="div" w="100%" maw="60ch">
        {children}
      </Text>
    </Stack>
  );
}
