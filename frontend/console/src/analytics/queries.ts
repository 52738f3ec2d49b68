import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { numbers } from "../components/locale";
import { t } from "../language/t";
import { asked, LIST } from "../table/rows";
import type { TableSearch } from "../table/search";

export type Question = components["schemas"]["Question"];
export type QuestionDetail = components["schemas"]["QuestionDetail"];
export type Ask = components["schemas"]["AskRequest"];

export const ANALYTICS = ["analytics"] as const;

/** Questions to fleets, youngest first. */
export function questionsQuery(search: TableSearch) {
  const query = asked(search);
  return queryOptions({
    queryKey: [...ANALYTICS, "list", query],
    queryFn: async ({ signal }) => (await api.GET("/api/analytics/", { params: { query }, signal })).data,
    ...LIST,
  });
}

/** One question, with its answer. */
export function questionQuery(id: string) {
  return queryOptions({
    queryKey: [...ANALYTICS, id],
    queryFn: async ({ signal }) => (await api.GET("/api/analytics/{id}/", { params: { path: { id } }, signal })).data,
  });
}

export function isActive(question: Question): boolean {
  return question.state === "open" || question.state === "summing";
}

/** What can be asked, in the words of the form. */
export const QUESTIONS = [
  { value: "classes", label: "How many samples of each class?" },
  { value: "samples", label: "How many samples does a device have?" },
  { value: "train_step_s", label: "How long does a train step take?" },
  { value: "temperature_c", label: "How warm are devices?" },
  { value: "memory_bytes", label: "How much memory do devices have?" },
  { value: "machine", label: "Which kinds of device?" },
  { value: "agent", label: "Which agents?" },
  { value: "charging", label: "Do devices charge?" },
  { value: "network", label: "Which network?" },
  { value: "reason", label: "Why do devices not train?" },
  { value: "outcome", label: "How did the latest assignments end?" },
] as const;

export const AMONG = [
  { value: "all", label: "all devices" },
  { value: "failing", label: "those whose latest assignment came to nothing" },
  { value: "waiting", label: "those that something keeps from training" },
] as const;

type Of = (typeof QUESTIONS)[number]["value"];
const QUANTITIES: readonly Of[] = ["samples", "train_step_s", "temperature_c", "memory_bytes"];

/** Whether bins are asked for, rather than words. */
export function hasBins(of: Of): boolean {
  return QUANTITIES.includes(of);
}

/** What the form says. */
export interface Asking {
  readonly of: Of;
  readonly among: string;
  /** Classes of the model; samples that a device counts at most. */
  readonly classes: number;
  readonly most: number;
  /** Edges of bins, or words to be counted, whichever the question has. */
  readonly entries: readonly string[];
  readonly minDevices: number;
}

/** The question as the platform takes it; undefined where an edge is no number, or they do not ascend. */
export function contentOf(asking: Asking): Record<string, unknown> | undefined {
  const terms = { among: asking.among, min_devices: asking.minDevices };
  if (asking.of === "classes") {
    return { count: { kind: "classes", classes: asking.classes, most: asking.most }, ...terms };
  }
  if (asking.entries.length === 0) return undefined;
  if (!hasBins(asking.of)) return { count: { kind: "words", of: asking.of, words: asking.entries }, ...terms };
  const edges = asking.entries.map(Number);
  const ascend = edges.every((edge, place) => Number.isFinite(edge) && (place === 0 || edge > (edges[place - 1] ?? 0)));
  return ascend ? { count: { kind: "histogram", of: asking.of, edges }, ...terms } : undefined;
}

/** What is counted, in a few words. */
export function subjectOf(question: Question): string {
  const { count } = question.content as { count?: { kind?: string; of?: string } };
  const of = count?.of ?? count?.kind ?? "";
  return QUESTIONS.find(({ value }) => value === of)?.label ?? of;
}

const COUNT = numbers({ maximumFractionDigits: 1 });

export function count(value: number): string {
  return COUNT.format(value);
}

/** "about ±8.4 (two standard deviations)", or that it is exact. */
export function errorOf(question: Question): string {
  const { deviation } = question;
  if (deviation === null) return "";
  const error = count(2 * deviation);
  return deviation === 0 ? t`exact: no noise was asked for` : t`each count is right to ±${error} in 95 of 100 cases`;
}
