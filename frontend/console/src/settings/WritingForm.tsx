import { Button, Select, Stack, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { chooseWriting, chosenWriting, moment, type Writing } from "../components/locale";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";

const LOCALES = [
  ["en-GB", "English (United Kingdom)"],
  ["en-US", "English (United States)"],
  ["de-CH", "German (Switzerland)"],
  ["de-DE", "German (Germany)"],
  ["fr-FR", "French (France)"],
  ["es-ES", "Spanish (Spain)"],
  ["ja-JP", "Japanese (Japan)"],
  ["sv-SE", "Swedish (2026-01-31)"],
] as const;
const EXAMPLE = 1_234_567;

/** How this browser writes dates and numbers. */
export function WritingForm() {
  const [{ locale, zone, exact }, write] = useState<Writing>(chosenWriting);
  const next: Writing = {
    ...(locale !== undefined && { locale }),
    ...(zone !== undefined && { zone }),
    ...(exact === true && { exact }),
  };
  return (
    <Panel title="Dates and numbers">
      <Stack gap="sm" maw={420} align="flex-start">
        <Select
          w="100%"
          label="Written as in"
          placeholder={`This browser's language: ${navigator.language}`}
          clearable
          searchable
          data={LOCALES.map(([value, label]) => ({ value, label }))}
          value={locale ?? null}
          onChange={(value) => write(withChoice(next, "locale", value))}
        />
        <Select
          w="100%"
          label="Time zone"
          placeholder={`This browser's: ${Intl.DateTimeFormat().resolvedOptions().timeZone}`}
          clearable
          searchable
          limit={50}
          data={["UTC", ...Intl.supportedValuesOf("timeZone").filter((name) => name !== "UTC")]}
          value={zone ?? null}
          onChange={(value) => write(withChoice(next, "zone", value))}
        />
        <Switch
          label="Exact times"
          description="“31 Jan 2026, 14:03:07” instead of “3 minutes ago”"
          checked={exact === true}
          onChange={(event) => {
            const { exact: _exact, ...others } = next;
            write(event.currentTarget.checked ? { ...others, exact: true } : others);
          }}
        />
        <Text size="sm" c="var(--quiet)">
          Now: {moment(Date.now())}; {counted(EXAMPLE)}
        </Text>
        <Button
          size="sm"
          onClick={() => {
            chooseWriting(next);
            window.location.reload(); // every format is made once
          }}
        >
          Write so in this browser
        </Button>
      </Stack>
    </Panel>
  );
}

function withChoice(writing: Writing, name: "locale" | "zone", value: string | null): Writing {
  const { [name]: _before, ...others } = writing;
  return value === null ? others : { ...others, [name]: value };
}
