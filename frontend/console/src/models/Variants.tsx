import { NumberInput, Select, Stack, Table, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { JOBS } from "../jobs/queries";
import { t } from "../language/t";
import { fittingOf, leftOutOf, whyNoneFits } from "./fitting";
import { fittingQuery, nameOf, type Variant, VERSIONS, type Version, variantsQuery } from "./queries";
import { rowsOf } from "./variants";

const MOST_POINTS = 1;

/** The smaller forms of a version with sizes and speeds, or why there are none, and how to make one. */
export function Variants({ version }: { version: Version }) {
  const { data: variants } = useQuery(variantsQuery(version.id));
  return (
    <Panel title="Smaller forms" tools={<Quantise version={version} />}>
      {variants === undefined || variants.length === 0 ? (
        <Text size="sm" c="var(--quiet)">
          None was made of this version. An int8 form is about four times smaller; it pays from about half a megabyte
          on.
        </Text>
      ) : (
        variants.map((variant) => <Forms key={variant.id} variant={variant} />)
      )}
    </Panel>
  );
}

function Forms({ variant }: { variant: Variant }) {
  const outcome = variant.graph === null ? variant.reason_sentence : t`${variant.name} is offered.`;
  return (
    <Stack gap="xs">
      <Text size="sm">
        {outcome} Measured at the platform on one thread, on {counted(variant.samples)} samples held out;{" "}
        {counted(variant.calibration)} others calibrated it.
      </Text>
      <Table.ScrollContainer minWidth={480}>
        <Table>
          <Table.Thead>
            <Table.Tr>
              <Table.Th>Form</Table.Th>
              <Table.Th>Size</Table.Th>
              <Table.Th>One prediction</Table.Th>
              <Table.Th>Accuracy</Table.Th>
              <Table.Th>Why it is not offered</Table.Th>
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rowsOf(variant).map((row) => (
              <Table.Tr key={row.name}>
                <Table.Td>{row.name}</Table.Td>
                <Table.Td>{row.size}</Table.Td>
                <Table.Td>{row.speed}</Table.Td>
                <Table.Td>{row.accuracy}</Table.Td>
                <Table.Td>{row.refused ?? ""}</Table.Td>
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
    </Stack>
  );
}

/** Has the cloud make an int8 form and measure it with a data set that is chosen. */
function Quantise({ version }: { version: Version }) {
  const { data: datasets } = useQuery(fittingQuery(version.pair));
  const fitting = fittingOf(datasets ?? []);
  const [chosen, choose] = useState<string | null>(null);
  const [points, allow] = useState<number | string>(MOST_POINTS);
  const dataset = chosen ?? fitting[0]?.id;
  return (
    <Action
      action="cloud_training.quantise_version"
      label="Quantise"
      blocked={datasets === undefined ? t`The data sets are being fetched.` : whyNoneFits(datasets)}
      confirm={
        <Stack gap="sm">
          <Text size="sm">
            An int8 form of {nameOf(version)} is made, run and measured. It is offered if it loses no more than this and
            is smaller or quicker; training stays in float32.
          </Text>
          <Select
            label="Held-out samples"
            description={leftOutOf(datasets ?? [])}
            data={fitting.map((one) => ({ value: one.id, label: one.name }))}
            value={dataset ?? null}
            allowDeselect={false}
            onChange={choose}
          />
          <NumberInput label="Points that it may lose" min={0} max={100} value={points} onChange={allow} />
        </Stack>
      }
      done="It is made as soon as the cloud is free; Jobs tells how far it is."
      changes={[VERSIONS, JOBS]}
      call={(via) =>
        api.POST("/api/versions/{id}/quantise/", {
          params: { path: { id: version.id } },
          body: { dataset: dataset ?? "", max_loss_points: Number(points) },
          ...via,
        })
      }
    />
  );
}
