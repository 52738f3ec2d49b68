import { Button, Menu } from "@mantine/core";
import { IconCheck, IconChevronDown } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { api } from "../api/client";
import { t } from "../language/t";
import { sessionQuery } from "./session";

/** In which project one acts; not there for who has only one. */
export function ProjectChoice() {
  const { data: session } = useQuery(sessionQuery);
  const [choosing, setChoosing] = useState(false);
  if (session === undefined || session.projects.length < 2) return null;
  const now = session.project;
  const all = session.all_projects ? [{ id: null, name: t`All projects`, organisation_name: "" }] : [];
  const choose = async (project: number | null) => {
    setChoosing(true);
    const answer = await api.POST("/api/session/project/", { body: { project } });
    if (answer.error === undefined)
      window.location.assign("/"); // whatever is shown is of the other project
    else setChoosing(false);
  };
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button
          variant="default"
          size="sm"
          maw={220}
          loading={choosing}
          aria-label={now == null ? "Project: all" : `Project: ${now.name}`}
          rightSection={<IconChevronDown size={14} aria-hidden />}
        >
          {now?.name ?? "All projects"}
        </Button>
      </Menu.Target>
      <Menu.Dropdown mah={420} style={{ overflowY: "auto" }}>
        {[...all, ...session.projects].map((project) => (
          <Menu.Item
            key={project.id ?? "all"}
            leftSection={
              <IconCheck size={14} aria-hidden visibility={project.id === (now?.id ?? null) ? "visible" : "hidden"} />
            }
            onClick={() => choose(project.id)}
          >
            {project.organisation_name === "" ? project.name : `${project.organisation_name} / ${project.name}`}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}
