import { Alert } from "@mantine/core";

/** Why the platform would refuse a plan. */
export function Misfit({ sentence }: { sentence: string }) {
  return (
    <Alert variant="light" color="red" role="alert">
      {sentence}
    </Alert>
  );
}
