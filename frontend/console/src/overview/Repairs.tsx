import { Anchor, Group, Menu, Stack, Text } from "@mantine/core";
import { IconAlertOctagon, IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { api } from "../api/client";
import { send } from "../api/send";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { When } from "../components/When";
import { pageOf } from "./pages";
import { OVERVIEW, REPAIRS, type Repair, repairsQuery } from "./queries";
import classes from "./Repairs.module.css";

const DAY_MS = 24 * 3600 * 1000;
const CHANGES = [REPAIRS, OVERVIEW];

/** Faults as sentences, each with what to do about it and a button that does it. */
export function Repairs() {
  return (
    <Panel title="Repairs">
      <Answer of={useQuery(repairsQuery)} height={120}>
        {(repairs) =>
          repairs.length === 0 ? (
            <Group gap="xs">
              <IconCheck size={18} color="var(--good)" aria-hidden />
              <Text size="sm">Nothing needs you.</Text>
            </Group>
          ) : (
            <Stack gap="md" component="ul" className={classes.list}>
              {repairs.map((repair) => (
                <Fault key={repair.key} repair={repair} />
              ))}
            </Stack>
          )
        }
      </Answer>
    </Panel>
  );
}

function Fault({ repair }: { repair: Repair }) {
  const serious = repair.severity === "error";
  const Icon = serious ? IconAlertOctagon : IconAlertTriangle;
  return (
    <li className={classes.fault}>
      <Icon
        size={20}
        color={serious ? "var(--bad)" : "var(--wait)"}
        aria-label={serious ? "error" : "warning"}
        className={classes.icon}
      />
      <Stack gap={4} flex={1} miw={0}>
        <Text size="sm" fw={550}>
          {repair.sentence}
        </Text>
        <Text size="sm" c="var(--quiet)">
          {repair.advice}{" "}
          {repair.since !== null && (
            <>
              Since <When at={repair.since} />.
            </>
          )}
        </Text>
        <Group gap="md" mt={4}>
          {repair.remedies.map((remedy) => (
            <Remedied key={remedy.title} remedy={remedy} />
          ))}
          <Mute repair={repair} />
        </Group>
      </Stack>
    </li>
  );
}

function Remedied({ remedy }: { remedy: Repair["remedies"][number] }) {
  const router = useRouter();
  if (remedy.method === "GET") {
    const page = pageOf(remedy.path);
    return (
      <Anchor
        href={page}
        size="sm"
        onClick={(event) => {
          event.preventDefault();
          router.history.push(page);
        }}
      >
        {remedy.title}
      </Anchor>
    );
  }
  return (
    <Action
      action={remedy.action}
      label={remedy.title}
      changes={CHANGES}
      call={(via) => send(remedy.method, remedy.path, via)}
    />
  );
}

function Mute({ repair }: { repair: Repair }) {
  const queries = useQueryClient();
  const { mutate: mute } = useMutation({
    mutationFn: (until: string | null) => api.POST("/api/muted-repairs/", { body: { key: repair.key, until } }),
    onSettled: () => Promise.all(CHANGES.map((queryKey) => queries.invalidateQueries({ queryKey }))),
  });
  return (
    <Menu>
      <Menu.Target>
        <Anchor component="button" type="button" size="sm" c="var(--quiet)">
          Not now
        </Anchor>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Item onClick={() => mute(new Date(Date.now() + DAY_MS).toISOString())}>Remind me tomorrow</Menu.Item>
        <Menu.Item onClick={() => mute(new Date(Date.now() + 7 * DAY_MS).toISOString())}>Remind me in a week</Menu.Item>
        <Menu.Item onClick={() => mute(null)}>Ignore it</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}
