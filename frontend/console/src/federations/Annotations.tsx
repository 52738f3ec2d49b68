import { Button, Text } from "@mantine/core";
import { useState } from "react";
import type { Mark } from "../chart/TimeChart";
import { Panel } from "../components/Panel";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { t } from "../language/t";
import { SaveCsv } from "../table/SaveCsv";
import { type SmallColumn, SmallTable } from "../table/SmallTable";
import type { Annotation } from "./queries";

const SHOWN = 5;

/** What happened beside the rounds, youngest first: the marks of the charts above, in full. */
export function Annotations({ of }: { of: readonly Annotation[] }) {
  const [all, setAll] = useState(false);
  if (of.length === 0) return null;
  const newest = of.toReversed();
  return (
    <Panel
      title="What happened"
      tools={
        <SaveCsv
          title="What happened"
          header={["when", "what", "in full"]}
          rows={newest.map(({ at, kind, sentence }) => [at, kind, sentence])}
        />
      }
    >
      <SmallTable
        label="What happened"
        columns={COLUMNS}
        rows={all ? newest : newest.slice(0, SHOWN)}
        rowKey={({ at, kind, mark }) => `${at} ${kind} ${mark}`}
        minWidth={300}
      />
      {of.length > SHOWN && (
        <Button size="compact-sm" variant="subtle" color="gray" mt="xs" onClick={() => setAll(!all)}>
          {all ? "Show the newest alone" : `Show all ${counted(of.length)}`}
        </Button>
      )}
    </Panel>
  );
}

const COLUMNS: readonly SmallColumn<Annotation>[] = [
  { header: "When", cell: ({ at }) => <When at={at} /> },
  { header: "What", cell: ({ kind }) => <State of={WORDS[kind]} /> },
  {
    header: "In full",
    cell: ({ sentence }) => (
      <Text size="sm" component="span">
        {sentence}
      </Text>
    ),
  },
];

const WORDS: Readonly<Record<Annotation["kind"], string>> = {
  plan: t`plan changed`,
  terms: t`terms changed`,
  started: t`started`,
  paused: "paused",
  finished: "finished",
  moved: t`version moved`,
  trial: t`version tried`,
  promoted: "promoted",
  rolled_back: "rolled_back",
  drift: t`drift`,
};

/** The same as marks of a chart. */
export function marksOf(annotations: readonly Annotation[]): readonly Mark[] {
  return annotations.map(({ at, mark, sentence }) => ({ at: Date.parse(at) / 1000, label: mark, sentence }));
}
