"""What a plan would do to a model on samples of one's own, before any device is there."""

import tempfile
from collections.abc import Mapping
from pathlib import Path

from numpy.typing import ArrayLike
from torch import nn

from coterie.core.errors import CoterieError
from coterie.offline.progress import ProgressLine
from coterie.sdk.arrays import write_arrays
from coterie.sdk.errors import Rejected
from coterie.sdk.exporting import Example, write_programs
from coterie.sdk.plans import checked
from coterie.sdk.plans import plan as preset_plan
from coterie.simulation.contenders import parse_contender
from coterie.simulation.outcome import Outcome
from coterie.simulation.own_work import own_scenario
from coterie.simulation.progress import Progress
from coterie.simulation.simulate import simulate as run
from coterie_wire.errors import WireError


def simulate(
    plan: str | Mapping[str, object],
    device: nn.Module,
    example: Example,
    data: Mapping[str, ArrayLike],
    *,
    devices: int | None = None,
    seed: int = 0,
    progress: bool = True,
) -> Outcome:
    """Run a `plan`, or a preset by its name, with virtual devices and a simulated clock, on this machine.

    Every user of `data` is a device: arrays of as many rows, ``y`` with classes, ``user`` with whose each sample is
    (whole numbers), and ``x`` or the model's inputs by their names. Each device meets its samples in the order of the
    rows, 32 at a time. `devices` takes the first so many users. The same arguments give the same outcome. Raises
    InvalidPlan, or Rejected where model and data do not fit the simulator.
    """
    contender = parse_contender(preset_plan(plan) if isinstance(plan, str) else checked(plan), path="plan")
    with tempfile.TemporaryDirectory(prefix="coterie-simulate-") as directory, ProgressLine.wanted(progress) as line:
        paths = write_programs(Path(directory), {"device": device}, example, loss=None, target=None, tell=line.tell)
        samples = Path(directory, "samples.npz")
        with samples.open("wb") as file:
            write_arrays(file, data)

        def show(reported: Progress) -> None:
            line.tell(f"simulated {reported.share:.0%}, {reported.rounds} rounds")

        try:
            scenario = own_scenario(paths["device"], samples)
            return run(contender, scenario, devices=devices or scenario.devices, seed=seed, report=show)
        except CoterieError as error:
            raise Rejected(error.code, str(error), error.fields) from error
        except WireError as error:
            raise Rejected(error.code, error.detail) from error
