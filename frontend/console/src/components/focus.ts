import { useEffect, useState } from "react";

/** Of what opens over a page and is drawn only while it is open: once it is gone, the keyboard is where it was before. */
export function useFocusBack(): void {
  const [before] = useState(() => document.activeElement);
  useEffect(
    () => () => {
      const held = document.activeElement;
      if (before instanceof HTMLElement && (held === null || held === document.body))
        before.focus({ preventScroll: true });
    },
    [before],
  );
}
