import { Anchor, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ShareBar } from "../chart/ShareBar";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import { type AgentVersion, agentVersionsQuery } from "./queries";
import { share } from "./standing";

/** Which agents the fleet runs, the newest first, and which devices would take another. */
export function FleetVersions() {
  return (
    <Panel title="Agent versions in the fleet">
      <Answer of={useQuery(agentVersionsQuery())} height={160}>
        {(versions) =>
          versions.length === 0 ? (
            <Empty title="No device has joined yet">
              What agents devices run is counted as they join.{" "}
              <Anchor component={Link} to="/enrol">
                Let the first one in
              </Anchor>
              .
            </Empty>
          ) : (
            <SmallTable
              label="Agent versions"
              columns={columnsFor(versions.reduce((sum, { devices }) => sum + devices, 0))}
              rows={versions}
              rowKey={({ version }) => version}
              minWidth={620}
            />
          )
        }
      </Answer>
    </Panel>
  );
}

function columnsFor(all: number): readonly SmallColumn<AgentVersion>[] {
  return [
    {
      header: "Agent",
      cell: ({ version }) => (
        <Anchor component={Link} to="/devices" search={{ agent: version } as never} size="sm" fw={550}>
          {version}
        </Anchor>
      ),
    },
    { header: "Devices", align: "end", cell: ({ devices }) => counted(devices) },
    {
      header: "Share",
      align: "end",
      cell: ({ devices }) => (
        <>
          {share(devices / all)}
          <ShareBar
            parts={[
              { words: "of this version", count: devices },
              { words: "", count: 0 },
              { words: "of others", count: all - devices },
            ]}
          />
        </>
      ),
    },
    { header: "Take updates", align: "end", cell: ({ taking }) => counted(taking) },
    { header: "Why others do not", cell: (version) => <Refusing of={version} /> },
  ];
}

function Refusing({ of: { version, refusing } }: { of: AgentVersion }) {
  if (refusing.length === 0) return <>–</>;
  return (
    <>
      {refusing.map(({ code, sentence, devices }) => (
        <Text key={code} size="sm" c="var(--quiet)">
          <Anchor
            component={Link}
            to="/devices"
            search={{ agent: version, refuses_updates: code } as never}
            size="sm"
            title={code}
          >
            {counted(devices)}
          </Anchor>
          : {sentence}
        </Text>
      ))}
    </>
  );
}
