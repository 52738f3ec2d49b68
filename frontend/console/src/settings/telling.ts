import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { asked, LIST } from "../table/rows";
import { type TableSearch, texts } from "../table/search";

export type Webhook = components["schemas"]["Webhook"];
export type Delivery = components["schemas"]["Delivery"];
export type Event = Webhook["events"][number];
type State = NonNullable<Delivery["state"]>;

export const WEBHOOKS = ["webhooks"] as const;
export const DELIVERIES = ["webhook-deliveries"] as const;
export const DELIVERY_STATES = ["pending", "delivered", "failed"] as const satisfies readonly State[];
export const EVENTS: readonly { value: Event; label: string }[] = [
  { value: "round.opened", label: "a round opens" },
  { value: "round.published", label: "a round publishes a version" },
  { value: "round.abandoned", label: "a round is abandoned" },
  { value: "federation.started", label: "a federation is started" },
  { value: "federation.paused", label: "a federation is paused, or pauses itself" },
  { value: "federation.finished", label: "a federation is finished" },
  { value: "champion.changed", label: "another version is used" },
  { value: "rollout.started", label: "a roll-out begins to measure" },
  { value: "rollout.ended", label: "a roll-out ends" },
  { value: "device.enrolled", label: "a device joins" },
  { value: "device.ended", label: "a device is revoked, or leaves" },
  { value: "device.quarantined", label: "a device is put into quarantine" },
  { value: "device.drifted", label: "a device drifts and asks for help" },
  { value: "transfer.judged", label: "a device has judged the help it got" },
  { value: "pair.judged", label: "a pair is ready, or rejected" },
  { value: "job.succeeded", label: "a job succeeds" },
  { value: "job.failed", label: "a job fails" },
];

/** Which deliveries are shown. */
export interface DeliveriesFilter {
  readonly webhook?: number;
  readonly state?: State;
}

export function deliveriesFilter(raw: Record<string, unknown>): DeliveriesFilter {
  return {
    ...(typeof raw.webhook === "number" && { webhook: raw.webhook }),
    ...texts<Pick<DeliveriesFilter, "state">>(raw, ["state"]),
  };
}

export function webhooksQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...WEBHOOKS, query],
    queryFn: async ({ signal }) => (await api.GET("/api/webhooks/", { params: { query }, signal })).data,
    ...LIST,
  });
}

export function deliveriesAsked(search: TableSearch & DeliveriesFilter) {
  return { ...asked(search), ...deliveriesFilter({ ...search }) };
}

export function deliveriesQuery(search: TableSearch & DeliveriesFilter) {
  const query = deliveriesAsked(search);
  return queryOptions({
    queryKey: [...DELIVERIES, query],
    queryFn: async ({ signal }) => (await api.GET("/api/webhook-deliveries/", { params: { query }, signal })).data,
    ...LIST,
  });
}
