"""Names of what is shipped with the simulation, which the process that serves operators does not load."""

PROFILES = ("gateways", "kiosks", "phones")
"""Names of fleet profiles."""
SUBSTITUTE = "phones"
"""Used where a fleet has no history yet: the slowest of the three."""
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
"""Default number of samples of a device."""
MOST_IN_SCENARIO = 200
"""Most devices whose samples are drawn."""
