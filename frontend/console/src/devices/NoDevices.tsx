import { Anchor } from "@mantine/core";
import { Link } from "@tanstack/react-router";
import { Empty } from "../components/Empty";

export function NoDevices({ filtered }: { filtered: boolean }) {
  if (filtered) return <Empty title="No device fits">Take a filter away to see more.</Empty>;
  return (
    <Empty title="No device has joined yet">
      <Anchor component={Link} to="/enrol">
        Make an enrolment token
      </Anchor>{" "}
      and type two commands on the device; it appears here at once.
    </Empty>
  );
}
