"""Division of the samples into those of devices, those of the platform, and those for evaluation."""

from typing import NamedTuple

import numpy as np

from coterie.evaluation.datasets import Dataset
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.population import Divided, Drawn, Population
from coterie.simulation.fleet.samples import FleetSamples
from coterie.simulation.fleet.splits import wanted
from coterie_learning.random import derive_seed


class DividedData(NamedTuple):
    """Disjoint parts of the samples."""

    held_out: Dataset
    """For evaluating versions."""
    platform: Dataset
    """The platform's, for merges that use its own samples; empty for others."""
    own: FleetSamples
    """The devices'."""


def divided(samples: FleetSamples, *, held_out_share: float, platform: int, seed: int) -> DividedData:
    """`platform` is the number of samples for the platform. Raises DoesNotFit."""
    data, columns = samples
    order = np.random.default_rng(derive_seed(seed, "held out")).permutation(len(data.labels))
    count = round(held_out_share * len(order))
    if not 0 < count < len(order):
        raise DoesNotFit(detail=f"of {len(order)} samples {count} would be held out to judge versions on")
    if count + platform >= len(order):
        detail = f"of {len(order)} samples {count} are held out to judge versions on, and {platform} are the platform's"
        raise DoesNotFit(detail=f"{detail}: none is left for devices")
    held, root, own = (np.sort(part) for part in np.split(order, [count, count + platform]))
    columns = {name: column[own] for name, column in columns.items()}
    return DividedData(data.take(held), data.take(root), FleetSamples(data.take(own), columns))


def population_of(run: FleetRun, own: FleetSamples) -> Population:
    """Distribute the samples `own` over devices. Raises DoesNotFit."""
    labels, rng = own.data.classes, np.random.default_rng(derive_seed(run.seed, "split"))
    if run.each is not None:
        classes, devices = run.model.spec.classes, wanted(run.devices)
        mixes = run.split.mixes(labels, classes=classes, devices=devices, rng=rng)
        return Drawn.from_mixes(mixes, labels, each=run.each, seed=derive_seed(run.seed, "population"))
    owners = run.split.owners(labels, own.columns, devices=run.devices, rng=rng)
    return Divided.by(owners, devices=run.devices or int(owners.max()) + 1)
