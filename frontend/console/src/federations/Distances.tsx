import { Table, Text } from "@mantine/core";
import { Panel } from "../components/Panel";
import { SaveCsv } from "../table/SaveCsv";
import classes from "./Distances.module.css";
import type { Split } from "./division";

const DIGITS = 3;

/** How far apart the models of any two groups are, and those of one among themselves. */
export function Distances({ of: split }: { of: Split }) {
  const names = Object.keys(split.distances);
  const between = (one: string, other: string) => split.distances[one]?.[other] ?? 0;
  const farthest = Math.max(...names.flatMap((one) => names.map((other) => between(one, other))));
  const rows = names.map((one) => [one, ...names.map((other) => between(one, other))]);
  return (
    <Panel
      title="How far the groups are apart"
      tools={<SaveCsv title="Distances of groups" header={["group", ...names]} rows={rows} />}
    >
      <Table.ScrollContainer minWidth={280} type="native" tabIndex={0}>
        <Table verticalSpacing={6} aria-label="Distances of groups">
          <Table.Thead>
            <Table.Tr>
              <Table.Td />
              {names.map((name) => (
                <Table.Th key={name} ta="end">
                  {name}
                </Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {names.map((one) => (
              <Table.Tr key={one}>
                <Table.Th scope="row">{one}</Table.Th>
                {names.map((other) => (
                  <Table.Td
                    key={other}
                    ta="end"
                    className={classes.distance}
                    style={{ "--share": farthest === 0 ? 0 : between(one, other) / farthest }}
                  >
                    {between(one, other).toFixed(DIGITS)}
                  </Table.Td>
                ))}
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </Table.ScrollContainer>
      <Text size="xs" c="var(--quiet)" mt="xs">
        Of what their models say about the same samples, on average, in nats. On the diagonal: within a group.
      </Text>
    </Panel>
  );
}
