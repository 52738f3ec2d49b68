import { NumberInput } from "@mantine/core";
import type { GetInputPropsReturnType } from "@mantine/form";

/** The inputs by which a federation judges candidates; `inputProps` are those of a form with these fields. */
export function TermsFields({
  inputProps,
}: {
  inputProps: (field: "tolerance" | "patience" | "attempts") => GetInputPropsReturnType;
}) {
  return (
    <>
      <NumberInput
        label="Accuracy that a candidate may lose"
        suffix="%"
        min={0}
        max={100}
        {...inputProps("tolerance")}
      />
      <NumberInput
        label="Patience"
        description="worse candidates in a row that are kept back before one is published; blank: all are"
        min={0}
        {...inputProps("patience")}
      />
      <NumberInput
        label="Attempts"
        description="rounds in a row without a version after which it pauses itself"
        min={1}
        {...inputProps("attempts")}
      />
    </>
  );
}
