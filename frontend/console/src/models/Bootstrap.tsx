import { Select, Stack, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { JOBS } from "../jobs/queries";
import { datasetsQuery, PAIRS, type Pair } from "./queries";

type BootstrapRequest = components["schemas"]["BootstrapRequest"];

/** Has the cloud train a pair that has no version yet, with a data set that is chosen. */
export function Bootstrap({ pair }: { pair: Pair }) {
  const { data: datasets } = useQuery(datasetsQuery);
  const [chosen, choose] = useState<string | null>(null);
  const dataset = chosen ?? datasets?.[0]?.id;
  const blocked =
    pair.state !== "ready"
      ? `The pair is ${pair.state ?? "checking"}.`
      : datasets?.length === 0
        ? "Upload a data set first, with POST /api/datasets/."
        : undefined;
  return (
    <Action
      action="cloud_training.bootstrap_pair"
      label="Bootstrap"
      primary
      blocked={blocked}
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            The cloud model learns the data set, then the first device model learns from it. Jobs tells how far it is.
          </Text>
          <Select
            label="Data set"
            data={datasets?.map((one) => ({ value: one.id, label: one.name })) ?? []}
            value={dataset ?? null}
            allowDeselect={false}
            onChange={choose}
          />
        </Stack>
      }
      done="It is trained as soon as the cloud is free."
      changes={[PAIRS, JOBS]}
      call={(via) =>
        api.POST("/api/pairs/{id}/bootstrap/", {
          params: { path: { id: pair.id } },
          body: { dataset } as BootstrapRequest, // everything else has a default
          ...via,
        })
      }
    />
  );
}
