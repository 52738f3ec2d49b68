"""Backups: a whole copy of a running platform in a directory, and a platform made of one."""
