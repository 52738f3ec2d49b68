"""Runs as Ray tasks, on this machine or on a connected cluster (Moritz et al. 2018, arXiv 1712.05889).

Ray serialises Python functions between its processes; here it gets only bytes, and one function by its name.
"""

from collections.abc import Sequence
from importlib.util import find_spec

import msgspec

from coterie.core.errors import CoterieError
from coterie.simulation.errors import DoesNotFit, MissingPackage, RunFailed
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.runner import ReportRounds
from coterie.simulation.fleet.shared import encode_fleet, run_shared, wanted_of
from coterie_wire.errors import WireError
from coterie_wire.structs import from_json

RETRIES = 3
"""Retries of a run whose process or machine died."""


class OnRay:
    """Runs on Ray, one core each. Ray is started on this machine unless it is connected to a cluster."""

    def outcomes(self, runs: Sequence[FleetRun], report: ReportRounds) -> Sequence[FleetOutcome]:
        """Also raises MissingPackage or RunFailed."""
        if find_spec("ray") is None:
            raise MissingPackage(package="ray", purpose="runs on Ray", extra="ray")
        import ray

        if not ray.is_initialized():
            ray.init(include_dashboard=False, log_to_driver=False)
        perform = ray.remote(num_cpus=1, max_retries=RETRIES)(_performed)
        fleet = ray.put(encode_fleet(runs[0]))
        asked = {perform.remote(fleet, msgspec.json.encode(wanted_of(run))): at for at, run in enumerate(runs)}
        found: dict[int, FleetOutcome] = {}
        waiting = list(asked)
        try:
            while waiting:
                (ended,), waiting = ray.wait(waiting, num_returns=1)
                try:
                    outcome, refused = ray.get(ended)
                except ray.exceptions.RayError as error:
                    raise RunFailed(detail=str(error).strip().splitlines()[-1]) from error
                if refused:
                    raise DoesNotFit(detail=refused)
                found[asked[ended]] = from_json(outcome, FleetOutcome)
                report(float(sum(runs[at].rounds for at in found)))
        finally:
            for one in waiting:
                ray.cancel(one, force=True)
        return [found[at] for at in range(len(runs))]


def _performed(fleet: bytes, wanted: bytes) -> tuple[bytes, str]:
    """An outcome or an error message, since Ray would wrap our exceptions."""
    try:
        return run_shared(fleet, wanted), ""
    except CoterieError as error:
        return b"", str(error)
    except WireError as error:
        return b"", error.detail
