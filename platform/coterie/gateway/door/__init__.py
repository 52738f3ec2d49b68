"""The front door: bounds on what any client can cost, applied before Django or the database is reached."""
