import { Stack, Text } from "@mantine/core";
import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { ANALYTICS, isActive, questionQuery, subjectOf } from "../analytics/queries";
import { Result } from "../analytics/Result";
import { api } from "../api/client";
import { Action } from "../components/Action";
import { PageHead } from "../components/PageHead";
import { Panel } from "../components/Panel";
import { Reason } from "../components/Reason";
import { State } from "../components/State";
import { counted } from "../components/units";
import { until } from "../components/until";
import { t } from "../language/t";

export const Route = createFileRoute("/analytics/$id")({
  component: QuestionPage,
  loader: ({ context, params }) => context.queryClient.ensureQueryData(questionQuery(params.id)),
  ...until(t`Question`),
});

function QuestionPage() {
  const { id } = Route.useParams();
  const { data: question } = useSuspenseQuery(questionQuery(id));
  if (question === undefined) return null;
  return (
    <>
      <PageHead
        title={question.title || subjectOf(question)}
        says={
          <>
            <State of={question.state} />, {question.federation_name}{" "}
            {question.reason_code !== "" && <Reason sentence={question.reason_sentence} code={question.reason_code} />}
          </>
        }
      >
        {isActive(question) && (
          <Action
            action="analytics.cancel_question"
            label="Cancel"
            danger
            confirm="It ends without an answer. What it has cost by then stays spent."
            done="The question is cancelled."
            changes={[ANALYTICS]}
            call={(via) => api.POST("/api/analytics/{id}/cancel/", { params: { path: { id } }, ...via })}
          />
        )}
      </PageHead>
      <Stack gap="lg">
        {question.state === "answered" && <Result question={question} />}
        <Panel title="Who was asked">
          <Text size="sm">
            {counted(question.asked)} devices were asked so far; {counted(question.devices_wanted)} are summed at most.
          </Text>
          {question.declined.map(({ code, devices }) => (
            <Text size="sm" key={code}>
              {counted(devices)} declined: {code}
            </Text>
          ))}
        </Panel>
      </Stack>
    </>
  );
}
