import {
  ActionIcon,
  Badge,
  Burger,
  Button,
  Group,
  Menu,
  Text,
  useComputedColorScheme,
  useMantineColorScheme,
} from "@mantine/core";
import { useDisclosure, useHotkeys } from "@mantine/hooks";
import { IconChevronDown, IconMoon, IconSearch, IconSun } from "@tabler/icons-react";
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useLocation } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useRef } from "react";
import { api } from "../api/client";
import { PageTime, Timespan } from "../chart/timespan";
import { Live } from "../live/Live";
import { overviewQuery } from "../overview/queries";
import { lackOfRole } from "../session/needs";
import { ProjectChoice } from "../session/ProjectChoice";
import { roleWord } from "../session/roles";
import { sessionQuery } from "../session/session";
import classes from "./Frame.module.css";
import { Mark } from "./Mark";
import { placesFor } from "./places";
import { Refused } from "./Refused";

const Palette = lazy(() => import("../search/Palette"));

/** The sidebar, the bar above, and the page that the address names. */
export function Frame() {
  const [opened, { toggle, close }] = useDisclosure();
  const main = useRef<HTMLElement>(null);
  const here = useLocation({ select: (location) => location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: each page has a time of its own
  const time = useMemo(() => new Timespan(), [here]);
  const { data: session } = useQuery(sessionQuery);
  const lack = session && lackOfRole(session);
  return (
    <>
      <header className={classes.header}>
        <a
          href={`${here}#page`}
          className={classes.skip}
          onClick={(event) => {
            event.preventDefault();
            main.current?.focus();
          }}
        >
          Skip to the page
        </a>
        <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Pages" />
        <Group gap="sm" ml="auto">
          <ProjectChoice />
          <Search />
          <ColourScheme />
          <Person />
        </Group>
      </header>
      <nav className={classes.navbar} data-opened={opened || undefined} aria-label="Pages">
        <Group className={classes.name} gap={8} justify="space-between">
          <Link to="/" className={classes.home}>
            <Mark />
            <Text fw={700} size="lg" component="span">
              Coterie
            </Text>
          </Link>
          <Burger opened={opened} onClick={toggle} hiddenFrom="sm" size="sm" aria-label="Close the pages" />
        </Group>
        {placesFor(session).map(({ to, label, icon: Icon }) => (
          <Link
            key={to}
            to={to}
            activeOptions={{ exact: to === "/", includeSearch: false }}
            className={classes.place}
            onClick={close}
          >
            <Icon size={18} stroke={1.6} aria-hidden />
            <span>{label}</span>
            {to === "/" && <RepairCount />}
          </Link>
        ))}
      </nav>
      <main ref={main} id="page" tabIndex={-1} className={classes.main}>
        <div className={classes.page}>
          {lack === undefined ? (
            <Live>
              <PageTime value={time}>
                <Outlet />
              </PageTime>
            </Live>
          ) : (
            <Refused {...lack} />
          )}
        </div>
      </main>
    </>
  );
}

/** Finds anything; Ctrl-K or ⌘K, from wherever one is. */
function Search() {
  const [asking, { open, close }] = useDisclosure();
  useHotkeys([["mod+K", open]], []); // also from within a field
  return (
    <>
      <Button
        variant="default"
        size="sm"
        c="var(--quiet)"
        leftSection={<IconSearch size={15} aria-hidden />}
        aria-keyshortcuts="Control+K Meta+K"
        onClick={open}
      >
        Search
      </Button>
      {asking && (
        <Suspense>
          <Palette onClose={close} />
        </Suspense>
      )}
    </>
  );
}

/** How many faults wait for somebody. */
function RepairCount() {
  const { data } = useQuery(overviewQuery);
  if (data === undefined || data.repairs === 0) return null;
  return (
    <Badge
      size="sm"
      ml="auto"
      circle={data.repairs < 10}
      color="yellow"
      variant="light"
      aria-label={`${data.repairs} repairs`}
    >
      {data.repairs}
    </Badge>
  );
}

/** Who is signed in, and the way out. */
function Person() {
  const { data: session } = useQuery(sessionQuery);
  const leave = async () => {
    await api.DELETE("/api/session/");
    window.location.assign("/sign-in/");
  };
  if (session?.operator === null || session === undefined) return null;
  return (
    <Menu position="bottom-end">
      <Menu.Target>
        <Button variant="subtle" color="gray" size="sm" rightSection={<IconChevronDown size={14} />}>
          {session.operator.username}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        <Menu.Label>{session.operator.role === "" ? "in projects" : roleWord(session.operator.role)}</Menu.Label>
        <Menu.Item component="a" href="/api/docs/">
          REST API
        </Menu.Item>
        <Menu.Item component={Link} to="/start">
          First steps
        </Menu.Item>
        <Menu.Item component={Link} to="/glossary">
          Glossary
        </Menu.Item>
        <Menu.Item component={Link} to="/settings" search={{ tab: "password" } as never}>
          Password
        </Menu.Item>
        <Menu.Item component={Link} to="/settings" search={{ tab: "second-factor" } as never}>
          Second factor
        </Menu.Item>
        <Menu.Item component={Link} to="/settings" search={{ tab: "sessions" } as never}>
          Sessions
        </Menu.Item>
        <Menu.Item onClick={leave}>Sign out</Menu.Item>
      </Menu.Dropdown>
    </Menu>
  );
}

function ColourScheme() {
  const { setColorScheme } = useMantineColorScheme();
  const dark = useComputedColorScheme("light") === "dark";
  return (
    <ActionIcon
      variant="subtle"
      color="gray"
      onClick={() => setColorScheme(dark ? "light" : "dark")}
      aria-label={dark ? "Use light colours" : "Use dark colours"}
    >
      {dark ? <IconSun size={18} /> : <IconMoon size={18} />}
    </ActionIcon>
  );
}
