import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { toneOf } from "../components/State";
import { counted } from "../components/units";
import { type DevicesFilter, WORDS } from "../devices/queries";
import classes from "./Fleet.module.css";
import type { Overview } from "./queries";
import { type Standing, standings } from "./standing";

/** The fleet by what it does and waits for; every number leads to its devices. */
export function Fleet({ overview }: { overview: Overview }) {
  const found = useMemo(() => standings(overview.by_status), [overview.by_status]);
  return (
    <Panel title="The fleet">
      {found.length === 0 ? (
        <Empty title="No device has joined yet">
          <Anchor component={Link} to="/enrol">
            Let the first one in
          </Anchor>
          .
        </Empty>
      ) : (
        <>
          <div className={classes.bar} aria-hidden>
            {found.map(({ status, devices }) => (
              <span key={status} style={{ flexGrow: devices, background: `var(--${toneOf(status)})` }} />
            ))}
          </div>
          <ul className={classes.states}>
            {found.map((standing) => (
              <State key={standing.status} of={standing} />
            ))}
          </ul>
        </>
      )}
    </Panel>
  );
}

function State({ of: { status, devices, reasons } }: { of: Standing }) {
  return (
    <li>
      <span className={classes.dot} style={{ background: `var(--${toneOf(status)})` }} aria-hidden />
      <Devices which={{ status }} count={devices} words={WORDS[status]} strong />
      {reasons.length > 0 && (
        <ul className={classes.reasons}>
          {reasons.map(({ reason, devices: count, words }) => (
            <li key={reason}>
              <Devices which={{ status, reason }} count={count} words={words} />
            </li>
          ))}
        </ul>
      )}
    </li>
  );
}

interface DevicesProps {
  readonly which: DevicesFilter;
  readonly count: number;
  readonly words: string;
  readonly strong?: boolean;
}

function Devices({ which, count, words, strong = false }: DevicesProps) {
  return (
    <Anchor component={Link} to="/devices" search={which as never} c="inherit" underline="hover" size="sm">
      <Text component="span" size="sm" fw={strong ? 650 : 550}>
        {counted(count)}
      </Text>{" "}
      {words}
    </Anchor>
  );
}
