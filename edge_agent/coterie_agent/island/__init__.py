"""An island: supernodes of a neighbourhood that is cut off from the platform agree on their roles by Raft."""
