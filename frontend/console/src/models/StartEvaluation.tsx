import { NumberInput, Stack, Text, TextInput } from "@mantine/core";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { EVALUATIONS } from "./evaluations";
import { nameOf, type Version } from "./queries";

const DEVICES = 50;
const HOURS = 24;
const HOUR_S = 3600;

/** Has a sample of devices measure a version on samples that they hold out. */
export function StartEvaluation({ version }: { version: Version }) {
  const [devices, ask] = useState<number | string>(DEVICES);
  const [reports, need] = useState<number | string>(1);
  const [hours, wait] = useState<number | string>(HOURS);
  const [tag, choose] = useState("");
  return (
    <Action
      action="fleet_evaluation.start_evaluation"
      label="Evaluate on devices"
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            A sample of devices measures {nameOf(version)} on samples that they hold out from training, when they charge
            and are on Wi-Fi as the plan asks. They keep using the version that they hold, and report figures alone.
          </Text>
          <NumberInput label="Devices that are asked" min={1} max={100_000} value={devices} onChange={ask} />
          <NumberInput
            label="Devices that must have measured it"
            min={1}
            max={Number(devices)}
            value={reports}
            onChange={need}
          />
          <NumberInput label="Hours that they have" min={0.01} max={720} value={hours} onChange={wait} />
          <TextInput
            label="Only devices with the tag"
            placeholder="any"
            value={tag}
            onChange={(event) => choose(event.currentTarget.value)}
          />
        </Stack>
      }
      done={`${nameOf(version)} is evaluated as devices find the time.`}
      changes={[EVALUATIONS]}
      call={(via) =>
        api.POST("/api/evaluations/", {
          body: {
            version: version.id,
            federation: null,
            devices: Number(devices),
            reports: Number(reports),
            within_s: Math.round(Number(hours) * HOUR_S),
            tag: tag.trim(),
          },
          ...via,
        })
      }
    />
  );
}
