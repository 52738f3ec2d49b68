import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { Answer } from "../components/Answer";
import { Refused } from "../components/Refused";
import { lackOf, type Need } from "./needs";
import { sessionQuery } from "./session";

/** What only those are shown who have what it needs; others read what they lack. */
export function Permitted({ needs, children }: { needs: Need; children: ReactNode }) {
  return (
    <Answer of={useQuery(sessionQuery)} height={320}>
      {(session) => {
        const lack = lackOf(needs, session);
        return lack === undefined ? children : <Refused {...lack} />;
      }}
    </Answer>
  );
}
