import { Box, Text, useComputedColorScheme, useMatches } from "@mantine/core";
import { Background, Controls, Handle, type Node, type NodeProps, Position, ReactFlow } from "@xyflow/react";
import { useMemo } from "react";
import "@xyflow/react/dist/style.css";
import { percent } from "../components/units";
import { t } from "../language/t";
import classes from "./Lineage.module.css";
import { placesOf, STEP_X } from "./layout";
import { cameOf } from "./origin";
import { type Graph, nameOf, type Version } from "./queries";

interface Props {
  readonly graph: Graph;
  /** How many portions devices took from one another while a version was the newest. */
  readonly transfers: ReadonlyMap<string, number>;
  readonly chosen: readonly string[];
  readonly onChoose: (version: string) => void;
}

interface CardData extends Record<string, unknown> {
  readonly version: Version;
  readonly transfers: number;
  readonly chosen: boolean;
  readonly onChoose: (version: string) => void;
}
type VersionNode = Node<CardData, "version">;

/** Columns of versions for which a wide page has room; the older ones are found by dragging. */
const SHOWN = 6;
const NODES = { version: Card };
const CONTROLS = {
  "controls.ariaLabel": t`Control Panel`,
  "controls.zoomIn.ariaLabel": t`Zoom In`,
  "controls.zoomOut.ariaLabel": t`Zoom Out`,
  "controls.fitView.ariaLabel": t`Fit View`,
};

/** What came of what: bootstrap, rounds, distillations, splits; and the transfers between devices meanwhile. */
export default function Lineage({ graph, transfers, chosen, onChoose }: Props) {
  const scheme = useComputedColorScheme("light");
  const nodes = useMemo<VersionNode[]>(
    () =>
      placesOf(graph).map(({ version, x, y }) => ({
        id: version.id,
        type: "version",
        position: { x, y },
        data: { version, transfers: transfers.get(version.id) ?? 0, chosen: chosen.includes(version.id), onChoose },
      })),
    [graph, transfers, chosen, onChoose],
  );
  const edges = useMemo(() => {
    const names = new Map(graph.versions.map((version) => [version.id, nameOf(version)]));
    return graph.edges.map(({ from_version: source, to_version: target, origin }) => {
      const label = cameOf(origin);
      const [made, from] = [names.get(target) ?? "", names.get(source) ?? ""];
      const ariaLabel = t`${made} came of ${from} by ${label}`;
      return { id: `${source} ${target}`, source, target, ariaLabel };
    });
  }, [graph]);
  const isLevel = nodes.every((node) => node.position.y === nodes[0]?.position.y);
  const columns = useMatches({ base: 2, sm: 4, lg: SHOWN });
  const newest = useMemo(() => {
    const latest = Math.max(...nodes.map((node) => node.position.x));
    return nodes.filter((node) => node.position.x > latest - columns * STEP_X).map(({ id }) => ({ id }));
  }, [nodes, columns]);
  return (
    <Box className={classes.canvas} data-helped={transfers.size > 0 || undefined} data-level={isLevel || undefined}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        nodeTypes={NODES}
        ariaLabelConfig={CONTROLS}
        colorMode={scheme}
        fitView
        fitViewOptions={{ nodes: newest, maxZoom: 1, padding: 0.15 }}
        minZoom={0.15}
        zoomOnScroll={false}
        preventScrolling={false}
        nodesDraggable={false}
        nodesConnectable={false}
        nodesFocusable={false}
        edgesFocusable={false}
        proOptions={{ hideAttribution: true }}
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </Box>
  );
}

function Card({ data: { version, transfers, chosen, onChoose } }: NodeProps<VersionNode>) {
  const metrics = version.metrics as Record<string, unknown> | null;
  const accuracy = metrics?.accuracy;
  return (
    <>
      <Handle type="target" position={Position.Left} />
      <button
        type="button"
        className={classes.card}
        data-champion={version.champion || undefined}
        data-archived={version.archived_at !== null || undefined}
        aria-pressed={chosen}
        onClick={() => onChoose(version.id)}
      >
        <Text size="sm" fw={600} component="span" className={classes.title}>
          {nameOf(version)}
        </Text>
        <Text size="xs" c="var(--quiet)" component="span">
          {version.champion ? "in use" : cameOf(version.origin)}
          {typeof accuracy === "number" && `, ${percent(accuracy)}`}
        </Text>
        {transfers > 0 && (
          <Text size="xs" c="var(--quiet)" component="span">
            {transfers === 1 ? "1 transfer" : `${transfers} transfers`}
          </Text>
        )}
      </button>
      <Handle type="source" position={Position.Right} />
    </>
  );
}
