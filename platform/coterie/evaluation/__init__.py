"""Pure functions and kinds of learning: no database, no network, no clock."""
