import { Alert } from "@mantine/core";

/** Why the platform would refuse a plan. */
export function Misfit({ sentence }: { sentence: string }) {
  return (
    <Alert variant="light" color="red" title="The plan does not fit" role="alert">
      {sentence}
    </Alert>
  );
}
