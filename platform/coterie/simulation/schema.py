"""The JSON schemas of a simulation's inputs and outputs."""

import msgspec

from coterie.simulation.contenders import BASELINES
from coterie.simulation.fleet.outcome import FleetOutcome
from coterie.simulation.fleet.profile import FleetProfile
from coterie.simulation.fleet.run_options import DRIFTS, SPLITS
from coterie.simulation.outcome import SimulationOutcome
from coterie.simulation.scenario import LEARNERS, STREAMS, ScenarioFile
from coterie.simulation.ways import WaysOutcome


def schema_text() -> str:
    """By document: `scenario` with its kinds of stream and learner, the baselines, and `outcome`; of fleets theirs."""
    schemas = {
        "scenario": msgspec.json.schema(ScenarioFile, schema_hook=_anything),
        "stream": STREAMS.schema(),
        "learner": LEARNERS.schema(),
        "baseline": BASELINES.schema(),
        "outcome": msgspec.json.schema(SimulationOutcome, schema_hook=_anything),
        "ways": msgspec.json.schema(WaysOutcome, schema_hook=_anything),
        "split": SPLITS.schema(),
        "drift": DRIFTS.schema(),
        "fleet": msgspec.json.schema(FleetProfile, schema_hook=_anything),
        "fleet_outcome": msgspec.json.schema(FleetOutcome, schema_hook=_anything),
    }
    return msgspec.json.format(msgspec.json.encode(schemas), indent=2).decode() + "\n"


def _anything(_type: type) -> dict[str, object]:
    """Schema of a kind or plan, which is defined in another document."""
    return {"description": "see the kinds"}
