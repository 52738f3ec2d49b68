import type { QueryKey } from "@tanstack/react-query";
import { useState } from "react";
import type { Call } from "../api/curl";
import { t } from "../language/t";
import { Action } from "./Action";
import { AskWhy } from "./AskWhy";

interface Props {
  /** The action's name in the audit log. */
  readonly action: string;
  /** What the button says that does it, once it was asked. */
  readonly confirmLabel: string;
  /** What becomes of it. */
  readonly says: string;
  readonly done: string;
  readonly changes: readonly QueryKey[];
  /** Cancels it for the reason that was given; blank: none was. */
  readonly call: (why: string) => Call;
}

/** Ends what waits or runs, with a reason that everybody reads. */
export function Cancel({ action, confirmLabel, says, done, changes, call }: Props) {
  const [why, say] = useState("");
  return (
    <Action
      action={action}
      label="Cancel"
      confirmLabel={confirmLabel}
      danger
      confirm={<AskWhy says={says} where={t`everybody reads it beside what is cancelled`} why={why} onWhy={say} />}
      done={done}
      changes={changes}
      onDone={() => say("")}
      call={call(why)}
    />
  );
}
