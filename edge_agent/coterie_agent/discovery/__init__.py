"""Discovery of other devices without the platform: on the local network, and in a distributed table of records."""
