"""The roles of a neighbourhood that is cut off from the platform: three supernodes keep them by Raft."""
