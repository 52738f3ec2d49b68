"""Finding other devices without the platform: on the local network, from signed records, and in a table among them."""
