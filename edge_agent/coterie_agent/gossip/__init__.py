"""Gossip: the device averages its model with its peers', over sealed calls that need no platform."""
