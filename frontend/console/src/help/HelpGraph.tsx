import { Box, useComputedColorScheme } from "@mantine/core";
import { useNavigate } from "@tanstack/react-router";
import { Background, Controls, MarkerType, ReactFlow } from "@xyflow/react";
import { useMemo } from "react";
import "@xyflow/react/dist/style.css";
import classes from "../models/Lineage.module.css";
import { helpGraphOf } from "./helpGraph";
import type { Transfer } from "./queries";

/** Who helped whom, as a graph; an arrow goes from the helper to the one that was helped. */
export default function HelpGraph({ transfers }: { transfers: readonly Transfer[] }) {
  const scheme = useComputedColorScheme("light");
  const navigate = useNavigate();
  const { nodes, edges } = useMemo(() => {
    const { members, bonds } = helpGraphOf(transfers);
    return {
      nodes: members.map(({ device, name, x, y }) => ({ id: device, position: { x, y }, data: { label: name } })),
      edges: bonds.map(({ helper, target, kept, undone, open }) => ({
        id: `${helper} ${target}`,
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
    <Box className={classes.canvas}>
      <ReactFlow
        nodes={nodes}
        edges={edges}
        colorMode={scheme}
        fitView
        fitViewOptions={{ maxZoom: 1, padding: 0.2 }}
        minZoom={0.1}
        zoomOnScroll={false}
        preventScrolling={false}
        nodesConnectable={false}
        proOptions={{ hideAttribution: true }}
        onNodeClick={(_event, node) => navigate({ to: "/devices/$id", params: { id: node.id } })}
      >
        <Background gap={24} />
        <Controls showInteractive={false} />
      </ReactFlow>
    </Box>
  );
}
