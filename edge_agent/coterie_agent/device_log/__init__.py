"""The agent's log: stored on the device, and sent to an operator on request where the owner allows it."""
