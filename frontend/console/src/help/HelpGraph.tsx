import { Box, Text, useComputedColorScheme } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import {
  Background,
  Controls,
  Handle,
  MarkerType,
  type Node,
  type NodeProps,
  Position,
  ReactFlow,
} from "@xyflow/react";
import { useMemo } from "react";
import "@xyflow/react/dist/style.css";
import classes from "../models/Lineage.module.css";
import { helpGraphOf } from "./helpGraph";
import type { Transfer } from "./queries";

type DeviceNode = Node<{ name: string }, "device">;
const NODES = { device: DeviceCard };

/** Who helped whom, as a graph; an arrow goes from the helper to the one that was helped. */
export default function HelpGraph({ transfers }: { transfers: readonly Transfer[] }) {
  const scheme = useComputedColorScheme("light");
  const { nodes, edges, more } = useMemo(() => {
    const { members, bonds, more } = helpGraphOf(transfers);
    const names = new Map(members.map(({ device, name }) => [device, name]));
    return {
      more,
      nodes: members.map(
        ({ device, name, x, y }): DeviceNode => ({ id: device, type: "device", position: { x, y }, data: { name } }),
      ),
      edges: bonds.map(({ helper, target, kept, undone, open }) => ({
        id: `${helper} ${target}`,
        ariaLabel: `${names.get(helper)} helped ${names.get(target)}: ${kept} kept, ${undone} undone, ${open} open`,
        source: helper,
        target,
        type: "straight",
        label: [kept > 0 && `${kept} kept`, undone > 0 && `${undone} undone`, open > 0 && `${open} open`]
          .filter(Boolean)
          .join(", "),
        markerEnd: { type: MarkerType.ArrowClosed },
        style: { stroke: kept > 0 ? "var(--good)" : "var(--quiet)", strokeWidth: 1 + Math.min(4, kept) },
      })),
    };
  }, [transfers]);
  return (
    <>
      {more > 0 && (
        <Text
          size="xs"
          c="var(--quiet)"
          mb={4}
        >{`The ${edges.length} pairs with most transfers; ${more} more are in the CSV.`}</Text>
      )}
      <Box className={classes.canvas}>
        <ReactFlow
          nodes={nodes}
          edges={edges}
          nodeTypes={NODES}
          nodesFocusable={false}
          edgesFocusable={false}
          colorMode={scheme}
          fitView
          fitViewOptions={{ maxZoom: 1, padding: 0.2 }}
          minZoom={0.1}
          zoomOnScroll={false}
          preventScrolling={false}
          nodesConnectable={false}
          proOptions={{ hideAttribution: true }}
        >
          <Background gap={24} />
          <Controls showInteractive={false} />
        </ReactFlow>
      </Box>
    </>
  );
}

/** A device, as a link to its page. */
function DeviceCard({ id, data: { name } }: NodeProps<DeviceNode>) {
  return (
    <>
      <Handle type="target" position={Position.Top} />
      <Link to="/devices/$id" params={{ id }} className={classes.device}>
        {name}
      </Link>
      <Handle type="source" position={Position.Bottom} />
    </>
  );
}
