import { Button, Select, Stack, Switch, Text } from "@mantine/core";
import { useState } from "react";
import { chooseWriting, chosenWriting, localeOf, moment, type Writing } from "../components/locale";
import { Panel } from "../components/Panel";
import { counted } from "../components/units";
import { chooseLanguage, chosenLanguage, LANGUAGES } from "../language/language";

const LOCALES = [
  { value: "en-GB", label: "English (United Kingdom)" },
  { value: "en-US", label: "English (United States)" },
  { value: "de-CH", label: "German (Switzerland)" },
  { value: "de-DE", label: "German (Germany)" },
  { value: "fr-FR", label: "French (France)" },
  { value: "es-ES", label: "Spanish (Spain)" },
  { value: "ja-JP", label: "Japanese (Japan)" },
  { value: "sv-SE", label: "Swedish (2026-01-31)" },
];
const EXAMPLE = 1_234_567;

/** The language of this browser's console, and how it writes dates and numbers. */
export function WritingForm() {
  const [{ locale, zone, exact }, write] = useState<Writing>(chosenWriting);
  const [language, read] = useState(chosenLanguage);
  const next: Writing = {
    ...(locale !== undefined && { locale }),
    ...(zone !== undefined && { zone }),
    ...(exact === true && { exact }),
  };
  return (
    <Panel title="Language and dates">
      <Stack gap="sm" maw={420} align="flex-start">
        <Select
          w="100%"
          label="Language"
          description="What the platform itself says, such as reasons and errors, is in English in either."
          placeholder="What this browser asks for"
          clearable
          data={LANGUAGES}
          value={language}
          onChange={read}
        />
        <Select
          w="100%"
          label="Dates and numbers as in"
          placeholder={localeOf(language)}
          clearable
          searchable
          data={LOCALES}
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
            chooseLanguage(language);
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
