import {
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

/** The console's pages in the order of the sidebar. */
export const PLACES = [
  { to: "/", label: "Overview", icon: IconLayoutDashboard },
  { to: "/devices", label: "Devices", icon: IconCpu },
  { to: "/agents", label: "Agents", icon: IconPackage },
  { to: "/federations", label: "Federations", icon: IconTopologyStar3 },
  { to: "/models", label: "Models", icon: IconBox },
  { to: "/simulations", label: "Simulations", icon: IconFlask },
  { to: "/analytics", label: "Questions", icon: IconChartHistogram },
  { to: "/help", label: "Help", icon: IconHeartHandshake },
  { to: "/enrol", label: "Enrol", icon: IconDeviceDesktopPlus },
  { to: "/jobs", label: "Jobs", icon: IconListCheck },
  { to: "/cluster", label: "Cluster", icon: IconServer2 },
  { to: "/alerts", label: "Alerts", icon: IconBell },
  { to: "/audit", label: "Audit", icon: IconHistory },
  { to: "/settings", label: "Settings", icon: IconSettings },
] as const;
