"""`coterie simulate`: virtual devices run a plan's own kinds on a simulated clock; no server, no database."""
