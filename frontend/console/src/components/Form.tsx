import type { ReactNode } from "react";

/** Fields with what they are for: Enter in one presses the action that is `primary` among `children`. */
export function Form({ children }: { children: ReactNode }) {
  return (
    <form
      noValidate
      onSubmit={(event) => {
        event.preventDefault();
        // A dialog that is opened from a form is within it for React, though not on the page.
        event.stopPropagation();
      }}
    >
      {children}
    </form>
  );
}
