import { api } from "../api/client";
import { Action } from "../components/Action";
import { PAIRS, type Pair, unreadyOf } from "./queries";

/** Makes the weights with which a pair was uploaded its first versions. */
export function UseUploadedWeights({ pair }: { pair: Pair }) {
  return (
    <Action
      action="registry.use_uploaded_weights"
      label="Use the uploaded weights"
      blocked={unreadyOf(pair)}
      confirm="For models that were trained before they were uploaded: both begin with the weights in their files."
      done="Both models begin with the weights in their files."
      changes={[PAIRS]}
      call={(via) =>
        api.POST("/api/pairs/{id}/uploaded-weights/", {
          params: { path: { id: pair.id } },
          body: { models: ["cloud", "device"] },
          ...via,
        })
      }
    />
  );
}
