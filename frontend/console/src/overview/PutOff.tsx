import { Group, Modal, Stack, Text } from "@mantine/core";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { Answer } from "../components/Answer";
import { useFocusBack } from "../components/focus";
import { When } from "../components/When";
import { REPAIRED, REPAIRS } from "./queries";

const MANY = 100;

const mutedQuery = queryOptions({
  queryKey: [...REPAIRS, "muted"],
  queryFn: async ({ signal }) =>
    (await api.GET("/api/muted-repairs/", { params: { query: { page_size: MANY } }, signal })).data,
});

/** Faults that somebody ignored, or put off until a moment, and the way back. */
export default function PutOff({ onClose }: { onClose: () => void }) {
  useFocusBack();
  return (
    <Modal opened onClose={onClose} title="Put off" centered size="lg">
      <Answer of={useQuery(mutedQuery)} height={80}>
        {({ results }) => {
          const muted = results.filter(({ until }) => until == null || Date.parse(until) > Date.now());
          return muted.length === 0 ? (
            <Text size="sm">No repair is ignored or put off.</Text>
          ) : (
            <Stack gap="md">
              {muted.map((mute) => (
                <Group key={mute.id} justify="space-between" gap="sm" wrap="nowrap">
                  <div>
                    <Text size="sm">{mute.sentence}</Text>
                    <Text size="xs" c="var(--quiet)">
                      {mute.until == null ? (
                        "ignored"
                      ) : (
                        <>
                          comes back <When at={mute.until} />
                        </>
                      )}
                    </Text>
                  </div>
                  <Action
                    action="repairs.restore_repair"
                    label="Show it"
                    changes={REPAIRED}
                    call={(via) =>
                      api.DELETE("/api/muted-repairs/{id}/", { params: { path: { id: mute.id } }, ...via })
                    }
                  />
                </Group>
              ))}
            </Stack>
          );
        }}
      </Answer>
    </Modal>
  );
}
