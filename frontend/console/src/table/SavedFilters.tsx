import { Button, Group, Menu, Modal, Stack, Text, TextInput } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconBookmark } from "@tabler/icons-react";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import type { components } from "../api/schema";
import { Action } from "../components/Action";
import { Failed } from "../components/Failed";
import { Form } from "../components/Form";
import { t } from "../language/t";
import { queryOf, searchOf } from "./saved";

type SavedFilter = components["schemas"]["SavedFilter"];

const SAVED = ["saved-filters"] as const;
const MANY = 100;

function savedQuery(table: string) {
  return queryOptions({
    queryKey: [...SAVED, table],
    queryFn: async ({ signal }) =>
      (await api.GET("/api/saved-filters/", { params: { query: { table, page_size: MANY } }, signal })).data,
  });
}

interface Props {
  /** The list's name in the REST API. */
  readonly table: string;
  /** What is in the address now. */
  readonly search: object;
  readonly onChoose: (search: Record<string, unknown>) => void;
}

/** What one looks at again and again, under names of one's own: filters, order and columns of a table. */
export function SavedFilters({ table, search, onChoose }: Props) {
  const { data, error, refetch } = useQuery(savedQuery(table));
  const [opened, { open, close }] = useDisclosure();
  const saved = data?.results ?? [];
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button size="sm" variant="default" leftSection={<IconBookmark size={15} aria-hidden />}>
            Saved filters
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {saved.length === 0 && <Menu.Label>None is saved yet.</Menu.Label>}
          {saved.map((one) => (
            <Menu.Item key={one.id} onClick={() => onChoose(searchOf(one.query ?? {}))}>
              {one.name}
            </Menu.Item>
          ))}
          <Menu.Divider />
          <Menu.Item onClick={open}>Save or remove one…</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      <Modal opened={opened} onClose={close} title="Saved filters" centered>
        {error !== null && data === undefined ? (
          <Failed error={error} retry={refetch} />
        ) : (
          <Stack gap="md">
            <Save table={table} search={search} taken={saved.map((one) => one.name)} />
            {saved.map((one) => (
              <Kept key={one.id} saved={one} />
            ))}
          </Stack>
        )}
      </Modal>
    </>
  );
}

function Save({ table, search, taken }: { table: string; search: object; taken: readonly string[] }) {
  const [name, setName] = useState("");
  const query = queryOf(search);
  const blocked =
    name.trim() === ""
      ? t`Give it a name first.`
      : Object.keys(query).length === 0
        ? t`Filter, sort or choose columns first: this is the whole table.`
        : undefined;
  return (
    <Form>
      <Group align="flex-end" gap="xs">
        <TextInput
          label="Name of what is shown now"
          placeholder="kiosks on battery"
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
          maxLength={100}
          flex={1}
        />
        <Action
          action="accounts.save_filter"
          label={taken.includes(name.trim()) ? "Replace it" : "Save it"}
          primary
          blocked={blocked}
          done={`Saved as ${name.trim()}.`}
          changes={[SAVED]}
          onDone={() => setName("")}
          call={(via) => api.POST("/api/saved-filters/", { body: { table, name: name.trim(), query }, ...via })}
        />
      </Group>
    </Form>
  );
}

function Kept({ saved }: { saved: SavedFilter }) {
  const query = Object.entries(saved.query ?? {}).map(([name, value]) => `${name}: ${value}`);
  return (
    <Group justify="space-between" gap="xs" wrap="nowrap">
      <div>
        <Text size="sm" fw={550}>
          {saved.name}
        </Text>
        <Text size="xs" c="var(--quiet)">
          {query.join(", ")}
        </Text>
      </div>
      <Action
        action="accounts.remove_filter"
        label="Remove"
        danger
        changes={[SAVED]}
        call={(via) => api.DELETE("/api/saved-filters/{id}/", { params: { path: { id: saved.id } }, ...via })}
      />
    </Group>
  );
}
