"""Django's SQLite, where writers of this process take turns: SQLite's own waiting is unfair, and may starve one of
them.
"""
