"""Errors of simulation runs, besides those that their child processes report."""

from coterie.core.errors import CoterieError, ErrorKind


class FleetTooLarge(CoterieError):
    """Fields: size_bytes, limit_bytes."""

    code = "simulation_runs.fleet_too_large"
    kind = ErrorKind.TOO_LARGE
    sentence = "The file of the fleet has {size_bytes} bytes, at most {limit_bytes} are taken."


class FleetUntold(CoterieError):
    """Fields: detail."""

    code = "simulation_runs.fleet_untold"
    kind = ErrorKind.INVALID
    sentence = "The file is none of a simulated fleet, as `coterie simulate --on platform` writes it: {detail}"


class RunHasEnded(CoterieError):
    """Fields: run, state."""

    code = "simulation_runs.run_has_ended"
    kind = ErrorKind.CONFLICT
    sentence = "Run {run} is {state} already."
