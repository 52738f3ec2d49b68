"""The supernode: receives neighbours' updates, and sends the platform their sum."""
