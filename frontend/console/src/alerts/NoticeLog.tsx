import { Group, Select, Text } from "@mantine/core";
import { IconCircleCheck, IconSend } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Empty } from "../components/Empty";
import { choicesOf, State } from "../components/State";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import type { TableSearch } from "../table/search";
import { About } from "./About";
import { SeverityIcon } from "./Firing";
import { CHANGES, NOTICE_STATES, type Notice, type NoticesFilter, noticesAsked, noticesQuery } from "./queries";

type Search = TableSearch & NoticesFilter;

/** What channels were told in the last ninety days, and whether it arrived. */
export function NoticeLog({ search, onSearch }: { search: Search; onSearch: (change: Search) => void }) {
  const { page: _page, ...kept } = search;
  const narrow = (name: "state" | "change", value: string | null) => {
    const { [name]: _before, ...others } = kept;
    onSearch(value === null ? others : { ...others, [name]: value });
  };
  return (
    <DataTable
      label="Notices"
      columns={COLUMNS}
      rows={useQuery(noticesQuery(search))}
      rowKey={(notice) => String(notice.id)}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={(change) => onSearch({ ...pick(search), ...change })}
      searchable="Sentence, rule or channel"
      tools={
        <>
          <Select
            aria-label="Change"
            placeholder="All changes"
            clearable
            data={choicesOf(CHANGES)}
            value={search.change ?? null}
            onChange={(value) => narrow("change", value)}
            w={150}
          />
          <Select
            aria-label="Outcome"
            placeholder="All outcomes"
            clearable
            data={choicesOf(NOTICE_STATES)}
            value={search.state ?? null}
            onChange={(value) => narrow("state", value)}
            w={150}
          />
          <ExportCsv path="/api/alert-notices/" query={noticesAsked(search)} />
        </>
      }
      empty={<Empty title="Nobody was told anything">The log keeps what channels were told for ninety days.</Empty>}
    />
  );
}

/** How bad it is while it is so; a test is no fault, and what is over is well. */
function ChangeIcon({ of: { change, severity } }: { of: Notice }) {
  if (change === "firing") return <SeverityIcon of={severity} />;
  const Icon = change === "resolved" ? IconCircleCheck : IconSend;
  const colour = change === "resolved" ? "var(--good)" : "var(--quiet)";
  return <Icon size={18} color={colour} aria-hidden style={{ flexShrink: 0 }} />;
}

function pick({ state, change }: NoticesFilter): NoticesFilter {
  return { ...(state !== undefined && { state }), ...(change !== undefined && { change }) };
}

const COLUMNS: readonly Column<Notice>[] = [
  {
    id: "sentence",
    header: "What was told",
    cell: (notice) => (
      <Group gap="xs" wrap="nowrap" align="flex-start">
        <ChangeIcon of={notice} />
        <div style={{ minWidth: 0 }}>
          <Text size="sm" style={{ overflowWrap: "anywhere", whiteSpace: "normal" }}>
            <About path={notice.path}>{notice.sentence}</About>
          </Text>
          {notice.rule_name !== "" && (
            <Text size="xs" c="var(--quiet)">
              {notice.rule_name}
            </Text>
          )}
        </div>
      </Group>
    ),
  },
  { id: "change", header: "Change", cell: (notice) => <State of={notice.change} /> },
  { id: "channel", header: "Channel", cell: (notice) => notice.channel_name },
  {
    id: "state",
    header: "Outcome",
    cell: (notice) => (
      <>
        <State of={notice.state} />
        {notice.problem !== "" && (
          <Text size="xs" c="var(--quiet)" miw={180} style={{ overflowWrap: "anywhere" }}>
            {notice.problem}
          </Text>
        )}
      </>
    ),
  },
  { id: "attempts", header: "Attempts", align: "end", optional: true, cell: (notice) => notice.attempts },
  { id: "created", header: "When", sort: "created_at", cell: (notice) => <When at={notice.created_at} /> },
  { id: "sent", header: "Sent", optional: true, cell: (notice) => <When at={notice.sent_at} /> },
  { id: "resolved", header: "Over", cell: (notice) => <When at={notice.resolved_at} /> },
];
