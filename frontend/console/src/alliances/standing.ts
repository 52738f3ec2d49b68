import { numbers } from "../components/locale";
import { counted, percent } from "../components/units";
import { t } from "../language/t";
import type { Alliance, Party } from "./queries";

const TIMES = numbers({ maximumFractionDigits: 2 });

export function isActive({ state }: Alliance): boolean {
  return state === "waiting" || state === "working";
}

/** A part of an alliance's way. */
export interface Step {
  readonly words: string;
  readonly detail: string;
  /** From 0, not begun, to 1, over. */
  readonly done: number;
}

/** Which parts the way has, and how far each is. */
export function stepsOf(alliance: Alliance): readonly Step[] {
  const { parties, common, epoch, terms, state } = alliance;
  const agreed = parties.filter(({ joined_at }) => joined_at !== null).length;
  const finished = state === "finished";
  return [
    {
      words: t`Both owners agree`,
      detail: agreed === 2 ? t`both have agreed` : t`${agreed} of 2 have agreed`,
      done: agreed / 2,
    },
    {
      words: t`Who is known to both`,
      detail: common > 0 ? t`${counted(common)} people, found by private set intersection` : t`not known yet`,
      done: common > 0 ? 1 : 0,
    },
    {
      words: t`Training`,
      detail: t`${counted(epoch)} of ${counted(terms.epochs)} epochs`,
      done: epoch / terms.epochs,
    },
    {
      words: t`People without a label are predicted`,
      detail: finished ? t`the party with the labels has the predictions` : t`after the last epoch`,
      done: finished ? 1 : 0,
    },
  ];
}

/** What the alliance is worth to the party with the labels, in points of accuracy; null: not known. */
export function gainOf({ accuracy, alone }: Alliance): number | null {
  return accuracy === null || alone === null ? null : 100 * (accuracy - alone);
}

/** Whether it pays, in words. */
export function worthOf(alliance: Alliance): string {
  const gain = gainOf(alliance);
  if (gain === null || alliance.alone === null)
    return t`The party with the labels has not told yet what it reaches alone.`;
  const alone = percent(alliance.alone);
  const points = TIMES.format(Math.abs(gain));
  if (gain <= 0) return t`It does not pay so far: alone that party reaches ${alone}, which is ${points} points more.`;
  return t`Alone the party with the labels reaches ${alone}: the other party’s columns are worth ${points} points.`;
}

/** How labels are kept from the party that has columns alone, in words. */
export function protectionOf(noise: number): string {
  if (noise === 0) {
    return t`None: gradients travel as they are. On the two-party example the party with columns guesses 85 to 88% of the labels from them.`;
  }
  return t`Gradients are bounded, and have normal noise of ${TIMES.format(noise)} times their mean length. With 2, the default, the party with columns guesses 19 to 30% of the labels on the two-party example, where chance is 13% and gradients without noise tell 85 to 88%. It is measured and not proven; no differential privacy is claimed.`;
}

/** What a party gives, and what it never sees. */
export function sharesOf(role: Party["role"]): {
  readonly gives: string;
  readonly learns: string;
  readonly never: string;
} {
  if (role === "labels") {
    return {
      gives: t`Noised gradients, batch by batch, and which of the common people are trained on, held out and predicted.`,
      learns: t`Whom both know, how many people the other party has, and what the other half makes of each common person in every epoch.`,
      never: t`The other party’s columns as they are, and its other people.`,
    };
  }
  return {
    gives: t`What its half of the network makes of each common person’s columns: some numbers a person, in every epoch.`,
    learns: t`Whom both know, how many people the other party has, which of them are trained on, and gradients with noise.`,
    never: t`Labels beyond what the noise lets through, the predictions, and the other party’s other people and columns.`,
  };
}

/** What an owner types on the device to agree. The other party's key comes from its owner, not from this page. */
export function commandFor(alliance: string, role: Party["role"]): string {
  const label = role === "labels" ? " --label COLUMN --predictions predicted.csv" : "";
  return `coterie-agent ally ${alliance} --partner KEY --table people.csv --identifier COLUMN${label}`;
}

export function wordsOf(role: Party["role"]): string {
  return role === "labels" ? t`The party with the labels` : t`The party with columns alone`;
}
