"""The rights of a device's owner: to see what the platform stores about the device, and to have it forgotten."""
