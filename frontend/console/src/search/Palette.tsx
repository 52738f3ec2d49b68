import { Loader, Modal, Text, TextInput } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { type KeyboardEvent, useId, useState } from "react";
import { useFocusBack } from "../components/focus";
import { sessionQuery } from "../session/session";
import { commandsFor, type Found, foundQuery } from "./found";
import classes from "./Palette.module.css";

const TYPING_MS = 200;

/** Finds pages, actions, devices, federations, models, versions and rounds, and goes there. */
export default function Palette({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate();
  const list = useId();
  const [typed, type] = useState("");
  const [settled] = useDebouncedValue(typed.trim(), TYPING_MS);
  const { data: rows, isFetching } = useQuery(foundQuery(settled));
  const { data: session } = useQuery(sessionQuery);
  const [at, move] = useState(0);
  useFocusBack();
  const found = [...commandsFor(typed, session), ...(typed.trim() === "" ? [] : (rows ?? []))];
  const active = Math.min(at, found.length - 1);
  const go = (one: Found | undefined) => {
    if (one === undefined) return;
    onClose();
    navigate({ to: one.to, ...(one.search !== undefined && { search: one.search as never }) });
  };
  const press = (event: KeyboardEvent) => {
    if (event.key === "Enter") go(found[active]);
    else if (event.key === "ArrowDown") move((active + 1) % Math.max(1, found.length));
    else if (event.key === "ArrowUp") move((active - 1 + found.length) % Math.max(1, found.length));
    else return;
    event.preventDefault();
  };
  return (
    <Modal opened onClose={onClose} title="Search" size="lg" yOffset="12vh">
      <TextInput
        data-autofocus
        role="combobox"
        aria-label="Search"
        aria-expanded
        aria-controls={list}
        aria-activedescendant={found[active] === undefined ? undefined : `${list}-${active}`}
        placeholder="A device, federation, model, version, “digits 12”, a page or an action"
        rightSection={isFetching ? <Loader size="xs" aria-hidden /> : null}
        value={typed}
        onChange={(event) => {
          type(event.currentTarget.value);
          move(0);
        }}
        onKeyDown={press}
      />
      <div role="listbox" id={list} aria-label="Found" className={classes.list}>
        {found.map((one, nth) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field above has the keyboard, as with every combobox
          // biome-ignore lint/a11y/useFocusableInteractive: the field above keeps the focus
          <div
            key={`${one.kind} ${one.id}`}
            id={`${list}-${nth}`}
            role="option"
            aria-selected={nth === active}
            className={classes.option}
            ref={nth === active ? (shown) => shown?.scrollIntoView?.({ block: "nearest" }) : undefined}
            onClick={() => go(one)}
          >
            <span className={classes.label}>{one.label}</span>
            <Text size="xs" c="var(--quiet)" component="span">
              {one.detail === undefined ? one.kind : `${one.kind}, ${one.detail}`}
            </Text>
          </div>
        ))}
      </div>
      <Text size="sm" c="var(--quiet)" role="status" mt="sm">
        {found.length === 0 ? (isFetching ? "Searching." : "Nothing is called that.") : "↑ ↓ choose, Enter goes there."}
      </Text>
    </Modal>
  );
}
