import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Answer } from "../components/Answer";
import { Refused } from "../components/Refused";
import { lackOf, type Need } from "./needs";
import { sessionQuery } from "./session";

/**
 * What only those are shown who have what it needs; others read what they lack. Where the session cannot be had, it is
 * shown, too: it says itself what of it failed, and the platform refuses what nobody may.
 */
export function Permitted({ needs, children }: { needs: Need; children: ReactNode }) {
  const asked = useQuery(sessionQuery);
  if (asked.isLoadingError) return children;
  return (
    <Answer of={asked} height={320}>
      {(session) => {
        const lack = lackOf(needs, session);
        return lack === undefined ? children : <Refused {...lack} />;
      }}
    </Answer>
  );
}
