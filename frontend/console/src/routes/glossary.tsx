import { Table, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { Answer } from "../components/Answer";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { glossaryQuery, matching } from "../glossary/queries";

interface GlossarySearch {
  readonly q?: string;
}

export const Route = createFileRoute("/glossary")({
  component: Glossary,
  validateSearch: (raw: Record<string, unknown>): GlossarySearch =>
    typeof raw.q === "string" && raw.q !== "" ? { q: raw.q } : {},
  loader: ({ context }) => {
    context.queryClient.prefetchQuery(glossaryQuery);
  },
});

function Glossary() {
  const { q = "" } = Route.useSearch();
  const navigate = Route.useNavigate();
  const terms = useQuery(glossaryQuery);
  return (
    <>
      <PageHead title="Glossary" says="The words of this console, of the REST API and of the documentation." />
      <TextInput
        label="Search"
        placeholder="word or meaning"
        value={q}
        onChange={({ currentTarget: { value } }) => navigate({ search: value ? { q: value } : {}, replace: true })}
        maw={320}
        mb="md"
      />
      <Answer of={terms}>
        {(all) => {
          const found = matching(all, q);
          if (found.length === 0) return <Empty title="No such word">Nothing in the glossary contains “{q}”.</Empty>;
          return (
            <Table verticalSpacing="sm">
              <Table.Thead>
                <Table.Tr>
                  <Table.Th w="clamp(7rem, 22%, 13rem)">Word</Table.Th>
                  <Table.Th>Meaning</Table.Th>
                </Table.Tr>
              </Table.Thead>
              <Table.Tbody>
                {found.map(({ name, meaning }) => (
                  <Table.Tr key={name}>
                    <Table.Th scope="row">{name}</Table.Th>
                    <Table.Td>{meaning}</Table.Td>
                  </Table.Tr>
                ))}
              </Table.Tbody>
            </Table>
          );
        }}
      </Answer>
    </>
  );
}
