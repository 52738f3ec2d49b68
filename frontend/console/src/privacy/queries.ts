import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { numbers } from "../components/locale";
import { counted } from "../components/units";
import { t } from "../language/t";

export type FederationPrivacy = components["schemas"]["FederationPrivacy"];
export type DevicePrivacy = components["schemas"]["DevicePrivacy"];

export const PRIVACY = ["privacy"] as const;

/** What a federation has spent of its privacy budget, and the budget. */
export function federationPrivacyQuery(id: string) {
  return queryOptions({
    queryKey: [...PRIVACY, "federation", id],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/federations/{id}/privacy/", { params: { path: { id } }, signal })).data,
  });
}

/** What all federations have spent of a device's budget, and the budget. */
export function devicePrivacyQuery(id: string) {
  return queryOptions({
    queryKey: [...PRIVACY, "device", id],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/devices/{id}/privacy/", { params: { path: { id } }, signal })).data,
  });
}

const THREE_DIGITS = numbers({ maximumSignificantDigits: 3 });

/** An epsilon to read, with three digits: what is spent is rounded up, so that nothing looks less than it is. */
export function epsilon(value: number): string {
  if (value === 0) return "0";
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  const rounded = Math.ceil(value / unit - 1e-9) * unit;
  return THREE_DIGITS.format(rounded);
}

/** How long a budget lasts. */
export function lasting(rounds: number | null): string {
  if (rounds === null) return t`nothing is spent under this plan`;
  if (rounds === 0) return t`pays for no more rounds`;
  return rounds === 1 ? t`lasts 1 more round` : t`lasts ${counted(rounds)} more rounds`;
}
