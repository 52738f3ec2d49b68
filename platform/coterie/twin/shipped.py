"""What is shipped with the simulation, by name: the process that serves operators does not load it."""

PROFILES = ("gateways", "kiosks", "phones")
"""Fleets."""
SUBSTITUTE = "phones"
"""Taken where a fleet has no past yet: of the three the one that rounds wait for longest."""
SCENARIOS = (
    "activities-running",
    "activities-stairs",
    "activities-unknown",
    "digits-alike",
    "digits-fluctuation",
    "digits-introduction",
    "digits-people",
    "digits-shifted",
    "digits-stationary",
    "places",
)
"""Samples by device."""
MOST_IN_SCENARIO = 200
"""Devices whose samples are drawn at most."""
