import { ActionIcon, CopyButton, Tooltip } from "@mantine/core";
import { IconCheck, IconCopy } from "@tabler/icons-react";
import classes from "./Command.module.css";

/** What to type into a shell, exactly, with a button that copies it. */
export function Command({ children }: { children: string }) {
  return (
    <div className={classes.command}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a wide command scrolls, also by keyboard */}
      <pre tabIndex={0}>{children}</pre>
      <CopyButton value={children}>
        {({ copied, copy }) => (
          <Tooltip label={copied ? "Copied" : "Copy"}>
            <ActionIcon variant="subtle" color="gray" onClick={copy} aria-label="Copy the command">
              {copied ? <IconCheck size={16} /> : <IconCopy size={16} />}
            </ActionIcon>
          </Tooltip>
        )}
      </CopyButton>
    </div>
  );
}
