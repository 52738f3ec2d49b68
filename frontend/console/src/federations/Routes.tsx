import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { components } from "../api/schema";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { bytes } from "../components/units";
import { t } from "../language/t";
import { type SmallColumn, SmallTable } from "../table/SmallTable";

type Ways = components["schemas"]["Routes"];
type Way = components["schemas"]["Route"];
type Sum = components["schemas"]["Fold"];

const SHOWN = 100;

/** Who reports through whom and why, and what became of the sums; nothing where every device sends to the platform. */
export function Routes({ of: { routes, folds } }: { of: Ways }) {
  if (routes.length === 0) return null;
  const indirect = routes.filter(({ supernode }) => supernode !== null).length;
  return (
    <Panel title="Who reports through whom">
      <SmallTable
        label="Ways of the updates"
        columns={WAYS}
        rows={routes.slice(0, SHOWN)}
        rowKey={({ device }) => device}
        minWidth={520}
      />
      <Text size="xs" c="var(--quiet)" mt="xs" mb="md">
        {routes.length > SHOWN && `The first ${SHOWN} of ${routes.length}. `}
        {indirect} of {routes.length} through a supernode. What a supernode holds counts once its sum has come.
      </Text>
      {folds.length > 0 && (
        <SmallTable label="Sums of supernodes" columns={SUMS} rows={folds} rowKey={({ id }) => id} minWidth={520} />
      )}
    </Panel>
  );
}

function Device({ id, name }: { id: string; name: string }) {
  return (
    <Anchor component={Link} to={`/devices/${id}`} size="sm">
      {name}
    </Anchor>
  );
}

const WAYS: readonly SmallColumn<Way>[] = [
  { header: "Device", cell: ({ device, device_name }) => <Device id={device} name={device_name} /> },
  {
    header: "Through",
    cell: ({ supernode, supernode_name }) =>
      supernode === null || supernode_name === null ? (
        t`the platform itself`
      ) : (
        <Device id={supernode} name={supernode_name} />
      ),
  },
  {
    header: "Why",
    cell: ({ reason_sentence, reason_code }) => <Reason sentence={reason_sentence} code={reason_code} />,
  },
  { header: "Held", cell: ({ held_at }) => (held_at === null ? "" : t`yes`) },
];

const SUMS: readonly SmallColumn<Sum>[] = [
  { header: "Supernode", cell: ({ supernode, supernode_name }) => <Device id={supernode} name={supernode_name} /> },
  {
    header: "Through",
    cell: ({ parent, parent_name }) =>
      parent === null || parent_name === null ? t`the platform itself` : <Device id={parent} name={parent_name} />,
  },
  {
    header: "Why this way",
    cell: ({ way_sentence, way_code }) => (way_code === "" ? "" : <Reason sentence={way_sentence} code={way_code} />),
  },
  { header: "Sum", cell: ({ state }) => <State of={state} /> },
  { header: "Updates", cell: ({ updates }) => updates },
  { header: "Bytes", cell: ({ size_bytes }) => (size_bytes === 0 ? "" : bytes(size_bytes)) },
  {
    header: "Ended",
    cell: ({ reason_sentence, reason_code }) =>
      reason_code === "" ? "" : <Reason sentence={reason_sentence} code={reason_code} />,
  },
];
