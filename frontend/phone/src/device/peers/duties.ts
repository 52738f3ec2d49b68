/** What a member has to tell or do for others next, a pure function of what is known: the order of `coterie_agent.peers.membership`. */
import type { HelpRules } from "../../learning/help";
import { asksFor, isDrifting, isReportDue, troubled, type Watch } from "../../learning/watch";
import { type AskHelp, ENDED, type GiveVerdict } from "../../wire/helping";
import type { Directive, HelpNews, Portion, Serve } from "../../wire/messages";
import type { Helped } from "../kept";
import type { PeersChoices } from "../sharing";

export interface PeersFacts {
  readonly rules: HelpRules;
  /** Of the plan that holds between rounds. */
  readonly digest: string;
  readonly choices: PeersChoices;
  /** The open request, and the verdict on its portion that was not told yet. */
  readonly asked: AskHelp | null;
  readonly verdict: GiveVerdict | null;
  /** How the platform says that a request stands; null: it says nothing that was not followed yet. */
  readonly news: HelpNews | null;
  /** Another device waits for help. */
  readonly serve: Serve | null;
  readonly helped: readonly Helped[];
  /** null: no batch was evaluated yet. */
  readonly watch: Watch | null;
  /** Whether the personal model has begun to fail, as last reported; null: not reported. */
  readonly reportedDrifting: boolean | null;
}

export type Duty =
  | { readonly do: "tell-verdict"; readonly asked: AskHelp; readonly verdict: GiveVerdict }
  | { readonly do: "ask-again"; readonly asked: AskHelp }
  | { readonly do: "withdraw"; readonly asked: AskHelp }
  | { readonly do: "end-request"; readonly asked: AskHelp; readonly news: HelpNews }
  | { readonly do: "try-portion"; readonly asked: AskHelp; readonly portion: Portion }
  | { readonly do: "serve"; readonly serve: Serve }
  | { readonly do: "ask"; readonly watch: Watch }
  | { readonly do: "report" | "withdraw-report"; readonly watch: Watch };

/** null: nothing is due. */
export function dutyOf(facts: PeersFacts): Duty | null {
  return ownRequest(facts) ?? othersRequest(facts) ?? toAsk(facts) ?? toReport(facts);
}

/** Whether the owner lets the device ask for help. */
export const mayAsk = ({ ask, tell }: PeersChoices): boolean => ask && tell !== "nothing";

/** Of the platform's answer what a member is to do at once, also while a round is in hand: each by a name of its own. */
export function callsOf({ help, serve }: Pick<Directive, "help" | "serve">): readonly string[] {
  const { portion = null, state = "asked", request = "" } = help ?? {};
  const isAnswered = portion !== null || state === "unknown" || ENDED.has(state);
  return [
    ...(isAnswered ? [`${request} ${portion?.transfer ?? state}`] : []),
    ...(serve === null ? [] : [serve.transfer]),
  ];
}

function ownRequest({ rules, asked, verdict, news, watch }: PeersFacts): Duty | null {
  if (asked === null) return null;
  if (verdict !== null) return { do: "tell-verdict", asked, verdict };
  if (news === null || news.request !== asked.request) return null;
  if (news.portion !== null) return { do: "try-portion", asked, portion: news.portion };
  if (news.state === "unknown") return { do: "ask-again", asked };
  if (ENDED.has(news.state)) return { do: "end-request", asked, news };
  return failsOn(asked.classes, watch, rules) ? null : { do: "withdraw", asked };
}

function othersRequest({ serve, digest, helped }: PeersFacts): Duty | null {
  // An answer that was sent before the platform learned of the end may name it again.
  const isOpen = serve !== null && serve.digest === digest && helped.every(({ name }) => name !== serve.transfer);
  return isOpen ? { do: "serve", serve } : null;
}

function toAsk({ rules, asked, watch, choices }: PeersFacts): Duty | null {
  if (asked !== null || watch === null || !mayAsk(choices)) return null;
  return asksFor(watch, rules).length > 0 ? { do: "ask", watch } : null;
}

function toReport({ rules, watch, choices, reportedDrifting }: PeersFacts): Duty | null {
  if (watch === null) return null;
  if (choices.tell === "nothing") return watch.reported.length > 0 ? { do: "withdraw-report", watch } : null;
  return isReportDue(watch, rules) || reportedDrifting !== isDrifting(watch) ? { do: "report", watch } : null;
}

/** Whether the personal model fails on one of `classes` among the newest batches. */
export const failsOn = (classes: readonly number[], watch: Watch | null, rules: HelpRules): boolean =>
  watch !== null && troubled(watch, rules, 1).some((label) => classes.includes(label));
