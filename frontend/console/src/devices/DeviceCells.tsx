import { Anchor, Text } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import type { components } from "../api/schema";
import { State } from "../components/State";
import { counted, percent } from "../components/units";
import { besideRows } from "../table/beside";
import type { Device } from "./queries";

type Figures = components["schemas"]["DeviceFigures"];

export const { Beside: DeviceFigures, useBeside: useFigures } = besideRows<Figures>();

/** The version that it holds, by its number, and how far behind that is. */
export function Held({ of }: { of: Device }) {
  const { version, versions_behind: behind } = useFigures(of.id) ?? {};
  if (version == null) return <>{of.held_version === "" ? "–" : "unknown"}</>;
  return (
    <>
      <Anchor
        component={Link}
        to={`/models/${version.pair}`}
        search={{ version: version.id } as never}
        size="sm"
        style={{ whiteSpace: "nowrap" }}
      >
        {version.lineage === "" ? `version ${version.number}` : `${version.number} of ${version.lineage}`}
      </Anchor>
      {behind != null && behind !== 0 && (
        <Text component="div" size="xs" c="var(--quiet)" style={{ whiteSpace: "nowrap" }}>
          {behind > 0 ? `${counted(behind)} behind` : `${counted(-behind)} ahead`}
        </Text>
      )}
    </>
  );
}

/** The round that it was asked in last, and what became of that. */
export function LastPart({ of }: { of: Device }) {
  const part = useFigures(of.id)?.last_part;
  if (part == null) return <>–</>;
  return (
    <>
      <Anchor
        component={Link}
        to={`/federations/${part.federation}/rounds/${part.round}`}
        size="sm"
        style={{ whiteSpace: "nowrap" }}
      >
        {part.federation_name}, {part.round_number}
      </Anchor>
      <div>
        <State of={part.state} />
      </div>
    </>
  );
}

export function OwnAccuracy({ of }: { of: Device }) {
  const accuracy = useFigures(of.id)?.accuracy;
  return <>{accuracy == null ? "–" : percent(accuracy)}</>;
}

export function Updates({ of }: { of: Device }) {
  const updates = useFigures(of.id)?.updates;
  return <>{updates === undefined ? "–" : counted(updates)}</>;
}
