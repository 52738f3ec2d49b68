import { Anchor, Group, Stack, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconAlertOctagon, IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useRouter } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import { send } from "../api/send";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { Panel } from "../components/Panel";
import { When } from "../components/When";
import { pageOf } from "./pages";
import { REPAIRED, type Repair, repairsQuery } from "./queries";
import classes from "./Repairs.module.css";

const NotNow = lazy(() => import("./NotNow"));
const PutOff = lazy(() => import("./PutOff"));

/** Faults as sentences, each with what to do about it and a button that does it. */
export function Repairs() {
  return (
    <Panel title="Repairs" tools={<Opens label="Put off">{(close) => <PutOff onClose={close} />}</Opens>}>
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
              It began <When at={repair.since} />.
            </>
          )}
        </Text>
        <Group gap="md" mt={4}>
          {repair.remedies.map((remedy) => (
            <Remedied key={remedy.title} remedy={remedy} />
          ))}
          <Opens label="Not now">{(close) => <NotNow repair={repair} onClose={close} />}</Opens>
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
      changes={REPAIRED}
      call={(via) => send(remedy.method, remedy.path, via)}
    />
  );
}

/** What leads to a dialog that is fetched when it is wanted. */
function Opens({ label, children }: { label: string; children: (close: () => void) => ReactNode }) {
  const [opened, { open, close }] = useDisclosure();
  return (
    <>
      <Anchor component="button" type="button" size="sm" c="var(--quiet)" onClick={open}>
        {label}
      </Anchor>
      {opened && <Suspense>{children(close)}</Suspense>}
    </>
  );
}
