import { Anchor, Group, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { toneOf } from "../components/State";
import type { Status } from "../devices/queries";
import classes from "./Fleet.module.css";
import type { Overview } from "./queries";

/** The fleet by what it does and waits for; every part leads to its devices. */
export function Fleet({ overview }: { overview: Overview }) {
  const parts = overview.by_status;
  const total = parts.reduce((sum, part) => sum + part.devices, 0);
  return (
    <Panel title="The fleet">
      {total === 0 ? (
        <Empty title="No device has joined yet">
          <Anchor component={Link} to="/enrol">
            Let the first one in
          </Anchor>
          .
        </Empty>
      ) : (
        <>
          <div className={classes.bar} aria-hidden>
            {parts.map((part) => (
              <span
                key={`${part.status} ${part.reason}`}
                style={{ flexGrow: part.devices, background: `var(--${toneOf(part.status)})` }}
              />
            ))}
          </div>
          <ul className={classes.parts}>
            {parts.map((part) => (
              <li key={`${part.status} ${part.reason}`}>
                <Anchor
                  component={Link}
                  to="/devices"
                  search={
                    { status: part.status as Status, ...(part.reason !== "" && { reason: part.reason }) } as never
                  }
                  c="inherit"
                  underline="hover"
                  size="sm"
                >
                  <Group gap={8} wrap="nowrap" component="span">
                    <span className={classes.dot} style={{ background: `var(--${toneOf(part.status)})` }} aria-hidden />
                    <Text component="span" size="sm" fw={600}>
                      {part.devices.toLocaleString()}
                    </Text>
                    <Text component="span" size="sm">
                      {part.words}
                    </Text>
                  </Group>
                </Anchor>
              </li>
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}
