"""A version on the samples of devices, by hand."""

import numpy as np
import pytest

from coterie.evaluation.datasets import Dataset
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.fleet import on_devices
from coterie.simulation.fleet.on_devices import measure_on_devices
from coterie.simulation.fleet.population import Divided
from coterie.simulation.fleet.setting import Setting
from coterie_learning.client.order import split
from coterie_learning.plan import parse_plan
from tests.coterie.simulation.fleet.fleets import PLAN, compiled, graphs, samples

FEW, MANY, NONE = range(3)


def setting() -> Setting:
    """The first device has 4 samples, the second 30, the third none."""
    data = samples(40).data
    owners = np.repeat([FEW, MANY, -1], [4, 30, 6])
    return Setting(parse_plan(PLAN), graphs(), data, Divided.by(owners, devices=3), 0)


def right(data: Dataset) -> list[bool]:
    output = predict_logits(graphs().predict, compiled().parameters, data)
    return (output.argmax(axis=1) == data.classes).tolist()


def nothing(_device: int) -> None:
    """No device has a model of its own."""


def test_each_device_is_measured_on_what_it_holds_out() -> None:
    given = setting()
    every = right(given.data)
    held_out = [4 + number - 1 for number in split(range(1, 31)).held_out]
    few, many = measure_on_devices(given, compiled().parameters, nothing).accuracies
    assert few == np.mean(every[:4]), "of fewer than ten, a device holds none out and measures on all"
    assert many == np.mean([every[row] for row in held_out])
    assert 0 < len(held_out) < 30


def test_of_many_devices_some_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    given, parameters = setting(), compiled().parameters
    both = measure_on_devices(given, parameters, nothing).accuracies
    monkeypatch.setattr(on_devices, "MOST", 1)
    assert measure_on_devices(given, parameters, nothing).accuracies == both[:1]


def test_a_device_with_a_model_of_its_own_answers_with_that() -> None:
    given, parameters = setting(), compiled().parameters
    most = int(np.bincount(given.dataset(MANY).classes).argmax())
    blind = {name: np.zeros_like(tensor) for name, tensor in parameters.items()}
    blind["layers.3.bias"][most] = 1
    by_version = measure_on_devices(given, parameters, nothing)
    found = measure_on_devices(given, parameters, lambda device: blind if device == MANY else None)
    by_blind = measure_on_devices(given, blind, nothing)
    assert (by_version.own, found.own) == (0, 1)
    assert found.accuracies == [by_version.accuracies[FEW], by_blind.accuracies[MANY]]
    assert by_blind.accuracies[MANY] != by_version.accuracies[MANY]
