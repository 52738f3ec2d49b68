import { Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { AskWhy } from "../components/AskWhy";
import { counted } from "../components/units";
import { planSchemaQuery } from "../federations/queries";
import { t } from "../language/t";
import { KindForm } from "../plan/KindForm";
import { Definitions, startOf, type Values } from "../plan/schema";
import { called, championOf, holdersQuery } from "./holders";
import { nameOf, type Version } from "./queries";
import { courseOf, isActive, ROLLOUTS, rolloutsQuery, stepsOf } from "./rollouts";

interface Props {
  readonly pair: string;
  readonly version: Version;
  /** Where the one in use is found. */
  readonly versions: readonly Version[];
}

/** Has a canary group try a version; the form is drawn from the settings of the plan's kind. */
export function StartRollout({ pair, version, versions }: Props) {
  const { data: schemas } = useQuery(planSchemaQuery);
  const { data: rollouts } = useQuery(rolloutsQuery(pair));
  const [chosen, choose] = useState<Values>();
  const { data: holders } = useQuery(holdersQuery(pair));
  const [why, say] = useState("");
  const current = championOf(versions, version);
  const others = current === undefined ? undefined : holders?.get(current.id);
  const schema = schemas?.rollout?.canary;
  const terms = chosen ?? (schema === undefined ? {} : startOf("canary", new Definitions(schema).fields));
  const steps = stepsOf(terms);
  const unready =
    steps === undefined ? t`Each phase needs a larger share than the one before, and every number.` : undefined;
  const other = rollouts?.results.find(isActive);
  const standing = other?.reason_sentence ?? other?.state ?? "";
  const blocked = version.champion
    ? t`It is in use.`
    : other !== undefined
      ? t`Version ${other.version_number} is on its way: ${standing}.`
      : schema === undefined
        ? t`Its settings are being fetched.`
        : undefined;
  return (
    <Action
      action="rollouts.start_rollout"
      label="Try it first"
      blocked={blocked}
      wide
      confirm={
        <Stack gap="sm">
          <AskWhy
            says={`${comparing(version, current, others)} ${t`Everybody gets it when it does no worse; otherwise it is rolled back. No round opens meanwhile.`}`}
            where={t`everybody reads it in the audit log`}
            why={why}
            onWhy={say}
          />
          <Text size="sm" role="status">
            {steps === undefined ? unready : courseOf(steps)}
          </Text>
          {schema !== undefined && <KindForm schema={schema} values={terms} paired onChange={choose} />}
        </Stack>
      }
      unready={unready}
      done={`${nameOf(version)} goes to a canary group as soon as no round is held.`}
      changes={[ROLLOUTS]}
      onDone={() => say("")}
      call={(via) => api.POST("/api/rollouts/", { body: { version: version.id, terms, why }, ...via })}
    />
  );
}

/** Who tries it, beside what; `devices` hold what is in use. */
function comparing(version: Version, current: Version | undefined, devices: number | undefined): string {
  if (current === undefined || devices === undefined) {
    return t`A group of devices holds ${called(version)} and compares it with the version in use on samples of their own.`;
  }
  return devices === 1
    ? t`A group of devices holds ${called(version)} and compares it on samples of their own with ${called(current)}, which 1 device holds.`
    : t`A group of devices holds ${called(version)} and compares it on samples of their own with ${called(current)}, which ${counted(devices)} devices hold.`;
}
