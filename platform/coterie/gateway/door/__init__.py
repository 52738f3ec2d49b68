"""The front door: what strangers may cost, bounded before anything of Django or of the database is asked."""
