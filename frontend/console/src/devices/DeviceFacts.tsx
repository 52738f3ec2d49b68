import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Facts } from "../components/Facts";
import { Panel } from "../components/Panel";
import { bytes, duration } from "../components/units";
import { When } from "../components/When";
import type { Device } from "./queries";

/** What the device is, and what it last told of itself. */
export function DeviceFacts({ device }: { device: Device }) {
  const { capabilities, conditions, metadata } = device;
  const told = (of: unknown, name: string): unknown =>
    typeof of === "object" && of !== null ? (of as Record<string, unknown>)[name] : undefined;
  const memory = told(capabilities, "memory_bytes");
  const heat = told(conditions, "temperature_c");
  const samples = told(metadata, "samples");
  return (
    <Panel title="Now">
      <Facts
        of={[
          ["Seen", <When key="seen" at={device.last_seen_at} />],
          ["Charging", String(told(conditions, "charging") ?? "unknown")],
          ["Network", String(told(conditions, "network") ?? "unknown")],
          ["Idle", String(told(conditions, "idle") ?? "unknown")],
          ["Temperature", typeof heat === "number" ? `${heat.toFixed(0)} °C` : "unknown"],
          ["Samples it keeps", typeof samples === "number" ? samples.toLocaleString() : "–"],
          ["Train step", device.train_step_s == null ? "–" : duration(device.train_step_s)],
          ["Machine", String(told(capabilities, "machine") ?? "–")],
          ["Cores", String(told(capabilities, "cores") ?? "–")],
          ["Memory", typeof memory === "number" ? bytes(memory) : "–"],
          ["Agent", String(told(capabilities, "agent") ?? "–")],
          [
            "Holds",
            device.held_version === "" ? (
              "no version yet"
            ) : (
              <Anchor key="holds" component={Link} to={`/models/versions/${device.held_version}`} size="sm">
                this version
              </Anchor>
            ),
          ],
          ["Joined", <When key="joined" at={device.enrolled_at} />],
        ]}
      />
    </Panel>
  );
}
