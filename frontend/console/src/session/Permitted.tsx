import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Refused } from "../components/Refused";
import { lackOf, type Need } from "./needs";
import { sessionQuery } from "./session";

/**
 * What only those are shown who have what it needs; others read what they lack. As long as the session is not there, or
 * cannot be had, it is shown: it says itself what of it is awaited or failed, and the platform refuses what nobody may.
 */
export function Permitted({ needs, children }: { needs: Need; children: ReactNode }) {
  const { data: session } = useQuery(sessionQuery);
  const lack = session === undefined ? undefined : lackOf(needs, session);
  return lack === undefined ? children : <Refused {...lack} />;
}
