"""The agent's log: kept on the device, and sent to an operator who asks for it where the owner allows it."""
