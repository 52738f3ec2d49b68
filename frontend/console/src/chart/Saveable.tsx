import { ActionIcon, Group, Menu, Text } from "@mantine/core";
import { useDisclosure } from "@mantine/hooks";
import { IconDots, IconZoomReset } from "@tabler/icons-react";
import type { ReactNode, Ref } from "react";
import { save } from "../components/save";
import type { Key } from "./poster";
import classes from "./Saveable.module.css";
import { csvOfValues, Values, type ValuesOf } from "./Values";

interface Props {
  /** Names the picture, and the files that it is saved to. */
  readonly title: string;
  readonly picture: () => HTMLCanvasElement | undefined;
  /** What its colours mean, where it has several. */
  readonly legend?: readonly Key[];
  /** What it shows. */
  readonly values: ValuesOf;
  /** Shows everything again, where only a part is shown. */
  readonly reset?: (() => void) | undefined;
  readonly ref?: Ref<HTMLElement>;
  readonly children: ReactNode;
}

/** A chart with its title, and the table of its values; the picture and the values can be had as files. */
export function Saveable({ title, picture, legend = [], values, reset, ref, children }: Props) {
  const [tabled, { toggle }] = useDisclosure();
  const saveAsPng = async () => {
    const chart = picture();
    if (chart === undefined) return;
    const { poster } = await import("./poster");
    poster(chart, title, legend).toBlob((blob) => blob && save(`${title}.png`, blob));
  };
  return (
    <figure className={classes.figure} ref={ref}>
      <Group component="figcaption" justify="space-between" gap="xs" wrap="nowrap" mih={24}>
        <Text size="sm" fw={550}>
          {title}
        </Text>
        <Group gap={4} wrap="nowrap">
          {reset !== undefined && (
            <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`All of “${title}”`} onClick={reset}>
              <IconZoomReset size={15} aria-hidden />
            </ActionIcon>
          )}
          <Menu position="bottom-end">
            <Menu.Target>
              <ActionIcon variant="subtle" color="gray" size="sm" aria-label={`More of “${title}”`}>
                <IconDots size={15} aria-hidden />
              </ActionIcon>
            </Menu.Target>
            <Menu.Dropdown>
              <Menu.Item onClick={toggle}>{tabled ? "Hide the table" : "Show its values as a table"}</Menu.Item>
              <Menu.Item onClick={saveAsPng}>Save it as PNG</Menu.Item>
              <Menu.Item onClick={() => save(`${title}.csv`, new Blob([csvOfValues(values)], { type: "text/csv" }))}>
                Save its values as CSV
              </Menu.Item>
            </Menu.Dropdown>
          </Menu>
        </Group>
      </Group>
      {children}
      {tabled && (
        <div className={classes.values}>
          <Values title={title} of={values} />
        </div>
      )}
    </figure>
  );
}
