import { Select, Stack, Text } from "@mantine/core";
import { useState } from "react";

interface Props<Plan> {
  /** By name. */
  readonly presets: Readonly<Record<string, Plan>>;
  /** Of each, line by line: its paper, what it is for, and when it loses. */
  readonly notes: Readonly<Record<string, readonly string[]>>;
  /** What is chosen before anybody has chosen. */
  readonly first: string;
  readonly onChoose: (plan: Plan) => void;
}

/** A published system to begin with, each with what speaks for it and against it. */
export function PresetChoice<Plan>({ presets, notes, first, onChoose }: Props<Plan>) {
  const [chosen, setChosen] = useState(first);
  return (
    <Stack gap={6}>
      <Select
        label="Begin with a published system"
        description="then change what you like"
        data={Object.keys(presets)}
        value={chosen}
        allowDeselect={false}
        searchable
        maxDropdownHeight={420}
        nothingFoundMessage="No preset is called so."
        renderOption={({ option }) => (
          <div>
            <Text size="sm" fw={550}>
              {option.value}
            </Text>
            <Text size="xs" c="var(--quiet)">
              {notes[option.value]?.[0]}
            </Text>
          </div>
        )}
        onChange={(name) => {
          const plan = name === null ? undefined : presets[name];
          if (name === null || plan === undefined) return;
          setChosen(name);
          onChoose(plan);
        }}
      />
      {notes[chosen]?.map((line) => (
        <Text key={line} size="sm" c="var(--quiet)">
          {line}
        </Text>
      ))}
    </Stack>
  );
}
