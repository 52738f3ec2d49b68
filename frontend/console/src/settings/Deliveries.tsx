import { Anchor, Select, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Actions } from "../components/Actions";
import { Empty } from "../components/Empty";
import { choicesOf, State } from "../components/State";
import { When } from "../components/When";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { PAGE_SIZE } from "../table/rows";
import { choice, type TableSearch } from "../table/search";
import {
  DELIVERIES,
  DELIVERY_STATES,
  type DeliveriesFilter,
  type Delivery,
  deliveriesAsked,
  deliveriesFilter,
  deliveriesQuery,
  webhooksQuery,
} from "./telling";
import { wordsOf } from "./Webhooks";

type Search = TableSearch & DeliveriesFilter;

/** What programs were told in the last thirty days, and whether it arrived. */
export function Deliveries({ search, onSearch }: { search: Search; onSearch: (change: Search) => void }) {
  const rows = useQuery(deliveriesQuery(search));
  const { data: webhooks } = useQuery(webhooksQuery({}));
  const { page: _page, webhook, state, ...table } = search;
  const narrow = (filter: DeliveriesFilter) => onSearch({ ...table, ...filter });
  return (
    <DataTable
      label="Deliveries"
      columns={COLUMNS}
      rows={rows}
      rowKey={(delivery) => delivery.id}
      pageSize={PAGE_SIZE}
      search={search}
      onSearch={(change) => onSearch({ ...deliveriesFilter({ ...search }), ...change })}
      tools={
        <>
          <Select
            aria-label="Webhook"
            placeholder="All webhooks"
            clearable
            data={webhooks?.results.map(({ id, name }) => ({ value: String(id), label: name })) ?? []}
            value={webhook === undefined ? null : String(webhook)}
            onChange={(id) =>
              narrow({ ...(state !== undefined && { state }), ...(id !== null && { webhook: Number(id) }) })
            }
            w={200}
          />
          <Select
            aria-label="Outcome"
            placeholder="All outcomes"
            clearable
            data={choicesOf(DELIVERY_STATES)}
            value={state ?? null}
            onChange={(value) => {
              const next = choice(value, DELIVERY_STATES);
              narrow({ ...(webhook !== undefined && { webhook }), ...(next !== undefined && { state: next }) });
            }}
            w={160}
          />
          <ExportCsv path="/api/webhook-deliveries/" query={deliveriesAsked(search)} />
        </>
      }
      empty={
        <Empty title="Nothing was told">
          The log keeps what webhooks were told in the last thirty days.{" "}
          <Anchor component={Link} to="/settings" search={{ tab: "webhooks" } as never}>
            Make a webhook
          </Anchor>
          , or try one.
        </Empty>
      }
    />
  );
}

const COLUMNS: readonly Column<Delivery>[] = [
  { id: "webhook", header: "Webhook", cell: (delivery) => delivery.webhook_name },
  { id: "event", header: "Event", cell: (delivery) => wordsOf(delivery.event) },
  {
    id: "state",
    header: "Outcome",
    cell: (delivery) => (
      <>
        <State of={delivery.state ?? "pending"} />
        {delivery.problem !== "" && (
          <Text size="xs" c="var(--quiet)">
            {delivery.problem}
          </Text>
        )}
      </>
    ),
  },
  { id: "attempts", header: "Attempts", align: "end", cell: (delivery) => delivery.attempts },
  { id: "status", header: "Answer", align: "end", optional: true, cell: (delivery) => delivery.status ?? "–" },
  { id: "next", header: "Next try", optional: true, cell: (delivery) => <When at={delivery.next_at} /> },
  { id: "created", header: "When", sort: "created_at", cell: (delivery) => <When at={delivery.created_at} /> },
  {
    id: "actions",
    header: "Actions",
    headless: true,
    align: "end",
    cell: (delivery) => (
      <Actions>
        <Action
          action="webhooks.retry_delivery"
          label="Send again"
          blocked={delivery.state === "pending" ? "It is still being tried." : undefined}
          changes={[DELIVERIES]}
          call={(via) =>
            api.POST("/api/webhook-deliveries/{id}/retry/", { params: { path: { id: delivery.id } }, ...via })
          }
        />
      </Actions>
    ),
  },
];
