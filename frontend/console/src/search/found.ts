import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import { placesFor } from "../components/places";
import { wordOf } from "../components/State";
import { t } from "../language/t";
import { nameOf } from "../models/queries";
import type { Session } from "../session/session";
import { LIST } from "../table/rows";

/** A place of the console that a search leads to. */
export interface Found {
  readonly id: string;
  /** What kind of thing it is, as its heading. */
  readonly kind: string;
  readonly label: string;
  /** What tells it from others of its name. */
  readonly detail?: string;
  readonly to: string;
  readonly search?: Readonly<Record<string, unknown>>;
}

const MOST = 5;

/** What one goes to and does beside the pages of the sidebar, whatever there is on the platform. */
const COMMANDS: readonly Found[] = [
  { id: "/start", kind: t`Pages`, label: "First steps", to: "/start" },
  { id: "/glossary", kind: t`Pages`, label: "Glossary", to: "/glossary" },
  { id: "/models/datasets", kind: t`Pages`, label: "Data sets", to: "/models/datasets" },
  { id: "runs", kind: t`Pages`, label: "Simulated runs and sweeps", to: "/simulations", search: { tab: "runs" } },
  { id: "/parts", kind: t`Pages`, label: "Parts in rounds", to: "/parts" },
  { id: "new-federation", kind: t`Actions`, label: "New federation", to: "/federations/new" },
  { id: "new-pair", kind: t`Actions`, label: "Upload a pair", to: "/models/new" },
  { id: "new-dataset", kind: t`Actions`, label: "Upload a data set", to: "/models/datasets" },
  { id: "enrol", kind: t`Actions`, label: "Enrol a device", to: "/enrol" },
  { id: "agent-rollout", kind: t`Actions`, label: "Roll out a release of the agent", to: "/agents/new" },
  { id: "alliance", kind: t`Actions`, label: "Begin an alliance", to: "/alliances/new" },
  { id: "token", kind: t`Actions`, label: "Make an API token", to: "/settings", search: { tab: "tokens" } },
  { id: "webhook", kind: t`Actions`, label: "Make a webhook", to: "/settings", search: { tab: "webhooks" } },
  { id: "alert-rule", kind: t`Actions`, label: "Make an alert rule", to: "/alerts", search: { tab: "rules" } },
  { id: "alert-channel", kind: t`Actions`, label: "Make an alert channel", to: "/alerts", search: { tab: "channels" } },
  { id: "invite", kind: t`Actions`, label: "Invite a person", to: "/settings", search: { tab: "people" } },
  { id: "password", kind: t`Actions`, label: "Change your password", to: "/settings", search: { tab: "password" } },
  { id: "second-factor", kind: t`Actions`, label: "Second factor", to: "/settings", search: { tab: "second-factor" } },
  { id: "sessions", kind: t`Actions`, label: "Where you are signed in", to: "/settings", search: { tab: "sessions" } },
  { id: "writing", kind: t`Actions`, label: "Language and dates", to: "/settings", search: { tab: "writing" } },
];

/** Pages that the person may be shown, and actions, whose names have every word that was typed. */
export function commandsFor(typed: string, session: Session | undefined): readonly Found[] {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const pages = placesFor(session).map(({ to, label }) => ({ id: to, kind: t`Pages`, label, to }));
  return [...pages, ...COMMANDS].filter(({ label }) => words.every((word) => label.toLowerCase().includes(word)));
}

/** A round as people say it: "digits 12", "digits round 12"; undefined: nothing that they typed is one. */
export function roundIn(typed: string): { readonly federation: string; readonly number: number } | undefined {
  const said = /^(.+?)\s+(?:round\s+)?#?(\d+)$/i.exec(typed.trim());
  return said?.[1] === undefined ? undefined : { federation: said[1], number: Number(said[2]) };
}

/** Devices, federations, pairs, versions, alliances and rounds that what was typed could mean, some of each. */
export function foundQuery(typed: string) {
  const query = { search: typed, page_size: MOST };
  return queryOptions({
    queryKey: ["found", typed],
    enabled: typed !== "",
    queryFn: async ({ signal }): Promise<readonly Found[]> => {
      const [devices, federations, pairs, versions, alliances, rounds] = await Promise.all([
        api.GET("/api/devices/", { params: { query }, signal }),
        api.GET("/api/federations/", { params: { query }, signal }),
        api.GET("/api/pairs/", { params: { query }, signal }),
        api.GET("/api/versions/", { params: { query }, signal }),
        api.GET("/api/alliances/", { params: { query }, signal }),
        roundsFor(typed, signal),
      ]);
      return [
        ...(devices.data?.results ?? []).map(({ id, name, status }) => ({
          id,
          kind: t`Devices`,
          label: name,
          detail: wordOf(status),
          to: `/devices/${id}`,
        })),
        ...(federations.data?.results ?? []).map(({ id, name, state }) => ({
          id,
          kind: t`Federations`,
          label: name,
          detail: wordOf(state),
          to: `/federations/${id}`,
        })),
        ...(pairs.data?.results ?? []).map(({ id, name }) => ({
          id,
          kind: t`Models`,
          label: name,
          to: `/models/${id}`,
        })),
        ...(versions.data?.results ?? []).map((version) => ({
          id: version.id,
          kind: t`Versions`,
          label: nameOf(version),
          to: `/models/${version.pair}`,
          search: { version: version.id },
        })),
        ...(alliances.data?.results ?? []).map(({ id, name, state }) => ({
          id,
          kind: t`Alliances`,
          label: name,
          detail: wordOf(state),
          to: `/alliances/${id}`,
        })),
        ...rounds,
      ];
    },
    ...LIST,
  });
}

async function roundsFor(typed: string, signal: AbortSignal): Promise<readonly Found[]> {
  const said = roundIn(typed);
  if (said === undefined) return [];
  const query = { search: said.federation, page_size: 1 };
  const federation = (await api.GET("/api/federations/", { params: { query }, signal })).data?.results[0];
  if (federation === undefined) return [];
  const asked = { federation: federation.id, number: said.number, page_size: MOST };
  const rounds = (await api.GET("/api/rounds/", { params: { query: asked }, signal })).data?.results ?? [];
  return rounds.map(({ id, number, state }) => ({
    id: String(id),
    kind: t`Rounds`,
    label: t`${federation.name}, round ${number}`,
    detail: wordOf(state),
    to: `/federations/${federation.id}/rounds/${id}`,
  }));
}
