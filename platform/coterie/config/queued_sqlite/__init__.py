"""Django's SQLite, whose writers of this process take turns: SQLite's own waiting is a lottery that somebody loses."""
