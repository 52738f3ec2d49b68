import { Anchor, Group, Loader, Stack, Text } from "@mantine/core";
import { IconCircleCheck, IconCircleDashed } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { t } from "../language/t";
import classes from "./FirstSteps.module.css";
import { type Begun, begunQuery, EXAMPLE, exampleQuery } from "./queries";

/** From nothing to devices that learn: the digits example with one button, or the same with models of one's own. */
export default function FirstSteps() {
  return (
    <Answer of={useQuery(begunQuery)} height={320}>
      {(begun) => (
        <Stack gap="lg">
          <Try />
          <Own begun={begun} />
        </Stack>
      )}
    </Answer>
  );
}

function Try() {
  const { data: example } = useQuery(exampleQuery);
  const blocked =
    example === undefined
      ? t`It is being asked whether this platform can run it.`
      : example.unavailable !== ""
        ? t`It cannot run here: ${example.unavailable}.`
        : example.state === "running"
          ? t`It runs already.`
          : undefined;
  return (
    <Panel title="Try the digits example here">
      <Stack gap="sm" align="flex-start">
        <Text size="sm" maw="70ch">
          Four devices, as processes on the platform's machine, learn to read handwritten digits from samples that none
          of them gives away. It takes two to five minutes until the first round is published, and needs no network.
        </Text>
        <Action
          action="registry.submit_pair"
          label="Try it"
          primary
          blocked={blocked}
          changes={[EXAMPLE]}
          call={(via) => api.POST("/api/example/", via)}
        />
        {example !== undefined && example.state !== "none" && <Says state={example.state} says={example.says} />}
      </Stack>
    </Panel>
  );
}

function Says({ state, says }: { state: string; says: string }) {
  if (state === "running") {
    return (
      <Group gap="sm" wrap="nowrap">
        <Loader size="xs" aria-hidden />
        <Text size="sm" role="status">
          {says || "It begins."}
        </Text>
      </Group>
    );
  }
  return (
    <Text size="sm" role="status">
      {state === "failed" ? `It failed: ${says}` : "It has ended. Its devices go on when it is started again."}
    </Text>
  );
}

/** Each step, whether it is done, and where it is done. */
function Own({ begun }: { begun: Begun }) {
  const steps: readonly (readonly [string, boolean, ReactNode])[] = [
    [
      t`Upload a pair of models`,
      begun.pairs > 0,
      <>
        A large one that teaches and a small one that devices train, both exported with torch.export.{" "}
        <To to="/models/new">Upload a pair</To>
      </>,
    ],
    [
      t`Make the first versions`,
      begun.versions > 0,
      <>
        The cloud trains them with a data set of yours, or they begin with the uploaded weights.{" "}
        <To to={begun.pair === undefined ? "/models" : `/models/${begun.pair}`}>Bootstrap the pair</To>
      </>,
    ],
    [
      t`Enrol a device`,
      begun.devices > 0,
      <>
        One command on a Raspberry Pi, a server or a laptop. <To to="/enrol">Make a token</To>
      </>,
    ],
    [
      t`Make a federation, and start it`,
      begun.federations > 0,
      <>
        It says which devices learn together, and how. <To to="/federations/new">New federation</To>
      </>,
    ],
    [
      t`See the first round published`,
      begun.rounds > 0,
      <>
        Devices train while they charge and are on Wi-Fi; the federation's page says what each waits for.{" "}
        <To to={begun.federation === undefined ? "/federations" : `/federations/${begun.federation}`}>Watch it</To>
      </>,
    ],
  ];
  return (
    <Panel title="Or with models of your own">
      <ol className={classes.steps}>
        {steps.map(([title, done, says]) => (
          <li key={title} data-done={done || undefined}>
            {done ? <IconCircleCheck size={22} aria-hidden /> : <IconCircleDashed size={22} aria-hidden />}
            <div>
              <Text size="sm" fw={600}>
                {title}
                {done && <span className={classes.done}> done</span>}
              </Text>
              <Text size="sm" c="var(--quiet)">
                {says}
              </Text>
            </div>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function To({ to, children }: { to: string; children: string }) {
  return (
    <Anchor component={Link} to={to} size="sm">
      {children}
    </Anchor>
  );
}
