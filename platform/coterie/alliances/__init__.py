"""Alliances: two devices with different columns about the same people, whose sealed letters are relayed."""
