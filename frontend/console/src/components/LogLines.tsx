import { Button, Group, Select, Stack, Text, TextInput } from "@mantine/core";
import { IconDownload, IconSearch } from "@tabler/icons-react";
import { useMemo, useState } from "react";
import { t } from "../language/t";
import classes from "./LogLines.module.css";
import { clock, moment } from "./locale";
import { save } from "./save";
import { counted } from "./units";

/** A line of a log. */
export interface LogLine {
  readonly id: number;
  readonly at: string;
  readonly text: string;
  /** How serious it is, and which part has written it, where the log tells that. */
  readonly level?: "info" | "warning" | "error";
  readonly source?: string;
}

const LEVELS = [
  { value: "info", label: t`everything` },
  { value: "warning", label: t`warnings and errors` },
  { value: "error", label: t`errors` },
] as const;
const DAY_MS = 86_400_000;
type Level = (typeof LEVELS)[number]["value"];

/** A log that is all on the page: searched by words, and saved as far as it is shown. */
export function LogLines({ title, lines, none }: { title: string; lines: readonly LogLine[]; none: string }) {
  const [words, search] = useState("");
  const [least, choose] = useState<Level>("info");
  const isOfADay = isOfOneDay(lines);
  const written = isOfADay ? clock : moment;
  const shown = useMemo(() => found(lines, words, least), [lines, words, least]);
  if (lines.length === 0) {
    return (
      <Text size="sm" c="var(--quiet)">
        {none}
      </Text>
    );
  }
  return (
    <Stack gap="sm">
      <Group gap="xs" role="search" aria-label="Lines of the log">
        <TextInput
          aria-label="Words to look for"
          placeholder="Words to look for"
          leftSection={<IconSearch size={15} aria-hidden />}
          value={words}
          onChange={(event) => search(event.currentTarget.value)}
          flex={1}
          miw={160}
        />
        {lines.some(({ level }) => level !== undefined) && (
          <Select
            aria-label="How serious"
            allowDeselect={false}
            data={[...LEVELS]}
            value={least}
            onChange={(level) => choose((level ?? "info") as Level)}
            w={190}
          />
        )}
        <Button
          size="sm"
          variant="default"
          leftSection={<IconDownload size={15} aria-hidden />}
          disabled={shown.length === 0}
          onClick={() => save(`${title}.log`, new Blob([textOf(shown)], { type: "text/plain" }))}
        >
          Save
        </Button>
      </Group>
      <Text size="sm" c="var(--quiet)" role="status">
        {shown.length === lines.length
          ? t`${counted(lines.length)} lines`
          : t`${counted(shown.length)} of ${counted(lines.length)} lines`}
      </Text>
      {shown.length > 0 && (
        <ol className={classes.lines} data-moments={!isOfADay || undefined} aria-label="Log">
          {shown.map(({ id, at, text, level, source }) => (
            <li key={id} data-level={level}>
              <time dateTime={at}>{written(at)}</time>
              {level !== undefined && <b>{level}</b>}
              <span>
                {source !== undefined && <i>{source}: </i>}
                {text}
              </span>
            </li>
          ))}
        </ol>
      )}
    </Stack>
  );
}

function isOfOneDay(lines: readonly LogLine[]): boolean {
  const [first, last] = [lines[0], lines.at(-1)];
  return first === undefined || last === undefined || Date.parse(last.at) - Date.parse(first.at) < DAY_MS / 2;
}

/** Lines with all of the words, in any case, that are at least so serious. */
export function found(lines: readonly LogLine[], words: string, least: Level): readonly LogLine[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  const rank = (level: Level) => LEVELS.findIndex(({ value }) => value === level);
  return lines.filter(({ text, source = "", level = "info" }) => {
    const whole = `${source} ${text}`.toLowerCase();
    return rank(level) >= rank(least) && wanted.every((word) => whole.includes(word));
  });
}

/** As a file has them: a line each, its whole moment first. */
export function textOf(lines: readonly LogLine[]): string {
  return lines
    .map(({ at, level, source, text }) =>
      [at, level, source === undefined ? text : `${source}: ${text}`].filter((part) => part !== undefined).join(" "),
    )
    .map((line) => `${line}\n`)
    .join("");
}
