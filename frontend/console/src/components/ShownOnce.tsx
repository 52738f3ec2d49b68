import { Alert, Text } from "@mantine/core";
import { Command } from "./Command";

/** A secret that a program is told by, which nobody can see again. */
export function ShownOnce({ name, secret }: { name: string; secret: string }) {
  return (
    <Alert variant="light" color="yellow" title={`The secret of ${name} is shown once`}>
      <Text size="sm" mb="xs">
        The program checks with it that what it is told comes from here.
      </Text>
      <Command>{secret}</Command>
    </Alert>
  );
}
