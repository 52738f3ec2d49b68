import { Stack, Text, TextInput } from "@mantine/core";

const LONGEST_WHY = 200;

interface Props {
  /** What becomes of it. */
  readonly says: string;
  /** Where everybody reads why. */
  readonly where: string;
  readonly why: string;
  readonly onWhy: (why: string) => void;
}

/** What a dialog says before something is done for a reason that everybody reads. */
export function AskWhy({ says, where, why, onWhy }: Props) {
  return (
    <Stack gap="sm">
      <Text size="sm">{says}</Text>
      <TextInput
        data-autofocus
        label="Why"
        description={where}
        maxLength={LONGEST_WHY}
        value={why}
        onChange={(event) => onWhy(event.currentTarget.value)}
      />
    </Stack>
  );
}
