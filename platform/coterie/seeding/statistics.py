"""Statistics of the tables, for the database's query planner."""

from django.db import connection


def analyze() -> None:
    """Update the statistics that queries are planned by; autovacuum does not see the rows of an open transaction."""
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
