import type { ReactNode } from "react";
import classes from "./Actions.module.css";

/** What can be done with a row, at its end. */
export function Actions({ children }: { children: ReactNode }) {
  return <div className={classes.actions}>{children}</div>;
}
