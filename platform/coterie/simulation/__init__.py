"""`coterie simulate`: a fleet of virtual devices that runs a plan's own kinds on a simulated clock; no server, no database."""
