import { Anchor, Stack } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { createFileRoute, Link } from "@tanstack/react-router";
import { AskForm } from "../analytics/AskForm";
import { type Question, questionsQuery, subjectOf } from "../analytics/queries";
import { Empty } from "../components/Empty";
import { PageHead } from "../components/PageHead";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { counted } from "../components/units";
import { When } from "../components/When";
import { epsilon } from "../privacy/queries";
import { type Column, DataTable } from "../table/DataTable";
import { ExportCsv } from "../table/ExportCsv";
import { asked, PAGE_SIZE } from "../table/rows";
import { tableSearch } from "../table/search";

export const Route = createFileRoute("/analytics/")({
  component: Questions,
  validateSearch: tableSearch,
  loaderDeps: ({ search }) => search,
  loader: ({ context, deps }) => {
    context.queryClient.prefetchQuery(questionsQuery(deps));
  },
});

function Questions() {
  const search = Route.useSearch();
  const navigate = Route.useNavigate();
  const rows = useQuery(questionsQuery(search));
  return (
    <>
      <PageHead title="Questions" says="A fleet is asked about itself, and only the sum of all answers is read.">
        <ExportCsv path="/api/analytics/" query={asked(search)} />
      </PageHead>
      <Stack gap="lg">
        <AskForm onAsked={({ id }) => navigate({ to: "/analytics/$id", params: { id } })} />
        <DataTable
          label="Questions"
          columns={COLUMNS}
          rows={rows}
          rowKey={(question) => question.id}
          pageSize={PAGE_SIZE}
          search={search}
          onSearch={(change) => navigate({ search: change, replace: true })}
          searchable="Title or federation"
          empty={<Empty title="No question yet">Ask one above; devices answer whose owners agree.</Empty>}
        />
      </Stack>
    </>
  );
}

const COLUMNS: readonly Column<Question>[] = [
  {
    id: "title",
    header: "Question",
    cell: (question) => (
      <Anchor component={Link} to={`/analytics/${question.id}`} fw={550} c="inherit" underline="hover" size="sm">
        {question.title || subjectOf(question)}
      </Anchor>
    ),
  },
  { id: "federation", header: "Federation", cell: (question) => question.federation_name },
  {
    id: "state",
    header: "State",
    cell: (question) => (
      <>
        <State of={question.state} />
        {question.reason_code !== "" && (
          <div>
            <Reason sentence={question.reason_sentence} code={question.reason_code} />
          </div>
        )}
      </>
    ),
  },
  {
    id: "devices",
    header: "Devices",
    align: "end",
    cell: (question) => (question.devices === null ? "–" : counted(question.devices)),
  },
  {
    id: "epsilon",
    header: "Epsilon",
    sort: "epsilon",
    align: "end",
    cell: (question) => (question.epsilon === null ? "–" : epsilon(question.epsilon)),
  },
  { id: "asked", header: "Asked", sort: "asked_at", cell: (question) => <When at={question.asked_at} /> },
];
