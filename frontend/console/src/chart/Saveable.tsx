import { ActionIcon, Group, Menu, Text } from "@mantine/core";
import { IconDownload } from "@tabler/icons-react";
import type { ReactNode, Ref } from "react";
import { save } from "../components/save";
import type { Key } from "./poster";
import classes from "./Saveable.module.css";

interface Props {
  /** Names the picture, and the files that it is saved to. */
  readonly title: string;
  readonly picture: () => HTMLCanvasElement | undefined;
  /** What its colours mean, where it has several. */
  readonly legend?: readonly Key[];
  /** Its data as CSV. */
  readonly table: () => string;
  readonly ref?: Ref<HTMLElement>;
  readonly children: ReactNode;
}

/** A chart with its title; the picture and what it shows can be had as files. */
export function Saveable({ title, picture, legend = [], table, ref, children }: Props) {
  const saveAsPng = async () => {
    const chart = picture();
    if (chart === undefined) return;
    const { poster } = await import("./poster");
    poster(chart, title, legend).toBlob((blob) => blob && save(`${title}.png`, blob));
  };
  return (
    <figure className={classes.figure} ref={ref}>
      <Group component="figcaption" justify="space-between" gap="xs" wrap="nowrap">
        <Text size="sm" fw={550}>
          {title}
        </Text>
        <Menu position="bottom-end">
          <Menu.Target>
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`Save “${title}”`}>
              <IconDownload size={15} aria-hidden />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={saveAsPng}>As PNG</Menu.Item>
            <Menu.Item onClick={() => save(`${title}.csv`, new Blob([table()], { type: "text/csv" }))}>
              Its data as CSV
            </Menu.Item>
          </Menu.Dropdown>
        </Menu>
      </Group>
      {children}
    </figure>
  );
}
