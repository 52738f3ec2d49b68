import { Notification, Portal } from "@mantine/core";
import { useEffect, useState, useSyncExternalStore } from "react";
import classes from "./Notices.module.css";
import { forget, type Notice, notices } from "./notice";

const SHOWN_MS = 4_000;

/** What was told lately, in the corner, as long as the pointer or the keyboard is on it; what failed stays until it is closed. */
export function Notices() {
  const shown = useSyncExternalStore(notices.subscribe, notices.now);
  const [held, hold] = useState(false);
  if (shown.length === 0) return null;
  return (
    <Portal>
      <section
        aria-label="Notices"
        className={classes.corner}
        onPointerEnter={() => hold(true)}
        onPointerLeave={() => hold(false)}
        onFocus={() => hold(true)}
        onBlur={() => hold(false)}
      >
        {shown.map((notice) => (
          <Shown key={notice.id} notice={notice} held={held} />
        ))}
      </section>
    </Portal>
  );
}

function Shown({ notice: { id, title, message, failed }, held }: { notice: Notice; held: boolean }) {
  useEffect(() => {
    if (held || failed) return;
    const timer = setTimeout(() => forget(id), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [id, failed, held]);
  return (
    <Notification
      className={classes.notice}
      title={title}
      color={failed ? "red" : "teal"}
      closeButtonProps={{ "aria-label": "Close" }}
      onClose={() => forget(id)}
    >
      {message}
    </Notification>
  );
}
