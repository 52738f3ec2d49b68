"""Django's backend for PostgreSQL, whose pool says why it has no connection to give."""
