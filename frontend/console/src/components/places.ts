import {
  type Icon,
  IconArrowsJoin2,
  IconBell,
  IconBox,
  IconChartHistogram,
  IconCpu,
  IconDeviceDesktopPlus,
  IconFlask,
  IconHeartHandshake,
  IconHistory,
  IconLayoutDashboard,
  IconListCheck,
  IconPackage,
  IconServer2,
  IconSettings,
  IconTopologyStar3,
} from "@tabler/icons-react";
import { lackOf, lackOfRole, type Need } from "../session/needs";
import type { Session } from "../session/session";

interface Place {
  readonly to: string;
  readonly label: string;
  readonly icon: Icon;
  /** What one needs beyond a role in the project that one acts in. */
  readonly needs?: Need;
}

/** The console's pages in the order of the sidebar. */
export const PLACES: readonly Place[] = [
  { to: "/", label: "Overview", icon: IconLayoutDashboard },
  { to: "/devices", label: "Devices", icon: IconCpu },
  { to: "/agents", label: "Agents", icon: IconPackage },
  { to: "/federations", label: "Federations", icon: IconTopologyStar3 },
  { to: "/models", label: "Models", icon: IconBox },
  { to: "/simulations", label: "Simulations", icon: IconFlask },
  { to: "/analytics", label: "Questions", icon: IconChartHistogram },
  { to: "/alliances", label: "Alliances", icon: IconArrowsJoin2 },
  { to: "/help", label: "Help", icon: IconHeartHandshake },
  { to: "/enrol", label: "Enrol", icon: IconDeviceDesktopPlus },
  { to: "/jobs", label: "Jobs", icon: IconListCheck },
  { to: "/cluster", label: "Cluster", icon: IconServer2, needs: "installation" },
  { to: "/alerts", label: "Alerts", icon: IconBell },
  { to: "/audit", label: "Audit", icon: IconHistory },
  { to: "/settings", label: "Settings", icon: IconSettings },
];

/** The pages that the person may be shown; what needs more than a role is among them once it is known that one has it. */
export function placesFor(session: Session | undefined): readonly Place[] {
  if (session === undefined) return PLACES.filter(({ needs }) => needs === undefined);
  if (lackOfRole(session) !== undefined) return [];
  return PLACES.filter(({ needs }) => needs === undefined || lackOf(needs, session) === undefined);
}
