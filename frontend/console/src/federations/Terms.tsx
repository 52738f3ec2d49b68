import { Stack } from "@mantine/core";
import { useForm } from "@mantine/form";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { t } from "../language/t";
import { FEDERATIONS, type Federation } from "./queries";
import { TermsFields } from "./TermsFields";

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
      <TermsFields inputProps={form.getInputProps} />
      <Action
        action="federations.change_terms"
        label="Change"
        blocked={form.isDirty() ? undefined : t`Nothing is changed yet.`}
        done="It holds from the next merge on."
        changes={[FEDERATIONS]}
        onDone={() => form.resetDirty()}
        call={(via) =>
          api.PATCH("/api/federations/{id}/", {
            params: { path: { id: federation.id } },
            body: {
              ...(form.isDirty("tolerance") && { tolerance: tolerance / 100 }),
              ...(form.isDirty("patience") && { patience: patience === "" ? null : patience }),
              ...(form.isDirty("attempts") && { attempts }),
            },
            ...via,
          })
        }
      />
    </Stack>
  );
}
