import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "../components/PageHead";
import FirstSteps from "../start/FirstSteps";

export const Route = createFileRoute("/start")({ component: Start });

function Start() {
  return (
    <>
      <PageHead title="First steps" says="From an empty platform to devices that learn." />
      <FirstSteps />
    </>
  );
}
