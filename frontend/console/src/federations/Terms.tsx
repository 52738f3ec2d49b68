import { NumberInput, Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { FEDERATIONS, type Federation } from "./queries";

/** By what a federation judges candidates, to be changed; it holds from the next merge on. */
export function Terms({ federation }: { federation: Federation }) {
  const form = useForm({
    initialValues: {
      tolerance: 100 * (federation.tolerance ?? 0),
      patience: (federation.patience ?? "") as number | "",
      attempts: federation.attempts ?? 1,
    },
  });
  const { tolerance, patience, attempts } = form.values;
  return (
    <Stack gap="sm">
      <NumberInput
        label="Accuracy that a candidate may lose"
        suffix="%"
        min={0}
        max={100}
        {...form.getInputProps("tolerance")}
      />
      <NumberInput
        label="Patience"
        description="worse candidates in a row that are kept back before one is published; blank: all are"
        min={0}
        {...form.getInputProps("patience")}
      />
      <NumberInput
        label="Attempts"
        description="worse candidates in a row after which it pauses itself"
        min={1}
        {...form.getInputProps("attempts")}
      />
      <Action
        action="federations.change_terms"
        label="Change"
        blocked={form.isDirty() ? undefined : "Nothing is changed yet."}
        done="It holds from the next merge on."
        changes={[FEDERATIONS]}
        onDone={() => form.resetDirty()}
        call={(via) =>
          api.PATCH("/api/federations/{id}/", {
            params: { path: { id: federation.id } },
            body: { tolerance: tolerance / 100, patience: patience === "" ? null : patience, attempts },
            ...via,
          })
        }
      />
    </Stack>
  );
}
