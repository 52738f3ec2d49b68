"""Roll-outs of agent releases to the fleet."""
