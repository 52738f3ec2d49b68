"""Rounds of federated averaging under a codec: what a model learns, and the bytes that are sent up for it.

The client's round, the codecs and the fold are those of production; only the clock and the network are left out.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from typing import NamedTuple

import msgspec
import numpy as np
import torch

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.demo.pair import DeviceModel
from coterie.evaluation.datasets import Dataset
from coterie.evaluation.digits import read_digits
from coterie.evaluation.scoring import predict_logits
from coterie.simulation.on_device import Graphs, Rows
from coterie.simulation.participant import Participant
from coterie_learning.cohort import weights
from coterie_learning.differences import make_difference
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.plan import parse_plan
from coterie_learning.random import derive_seed, permutation
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors, encoded_bytes

CLASSES = 10
INPUT = "images"


class Setting(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of all contenders alike."""

    devices: int
    asked: int
    """Devices of a round."""
    dirichlet: float
    """How evenly a class is spread over devices; the smaller, the less."""
    rounds: int
    steps: int
    """Of a device in a round, at most."""
    batch_size: int
    learning_rate: float
    held_out: int
    """Samples that accuracy is measured on."""
    judged: int
    """The last rounds, over which the mean of the accuracy is taken."""


class Run(NamedTuple):
    """What one contender came to on one seed."""

    accuracy: float
    """Share of the held-out samples, mean over the last rounds."""
    update_bytes: float
    """Of an update, mean over all."""
    least_bytes: int
    most_bytes: int
    down_bytes: float
    """What a device fetches that holds the version before, mean over all rounds."""


def run(
    setting: Setting,
    local: Mapping[str, object],
    codec: Mapping[str, object],
    down: Mapping[str, object],
    *,
    seed: int,
) -> Run:
    """The rounds of one seed under the kinds of a plan, as it writes them; the same arguments give the same figures.

    All devices follow every version, as those do that are not away for longer than a round.
    """
    local = {**local, "epochs": setting.steps, "learning_rate": setting.learning_rate}
    plan = parse_plan({"local": local, "codec": codec, "merge": {"kind": "fed_avg"}, "down": down})
    encoding = plan.down.codec()
    dealt, compiled = deal(setting, seed), _compiled(setting.batch_size, seed)
    graphs = Graphs.of(compiled.spec, train_step=compiled.train_step, predict=compiled.predict)
    contents = Contents(graphs.spec, plan.codec, plan.local)
    rows = [Rows(data, graphs.spec, range(len(data.labels))) for data in dealt.devices]
    devices = [Participant(plan.device, []) for _ in rows]
    parameters: Tensors = compiled.parameters
    residual: Tensors = {}
    sizes, down_sizes, accuracies = [], [], []
    for number in range(setting.rounds):
        payloads, samples = [], []
        for device in permutation(setting.devices, seed, "round", number)[: setting.asked].tolist():
            part = devices[device].take_part(
                graphs,
                parameters,
                rows[device],
                seen=range(CLASSES),
                personal=None,
                teacher=None,
                seed=derive_seed(seed, number, device),
                steps_allowed=setting.steps,
            )
            devices[device].accepted()
            payloads.append(part.payload)
            samples.append(part.samples)
        counted = [
            CountedUpdate(partial(_opened, contents, payload), weight)
            for payload, weight in zip(payloads, weights(samples), strict=True)
        ]
        merged = fold_in_memory(plan.merge, graphs.spec.parameters, counted, parameters, None).parameters
        if encoding is None:
            parameters = merged
            down_sizes.append(encoded_bytes(graphs.spec.version))
        else:
            made = make_difference(encoding, graphs.spec, base=parameters, merged=merged, residual=residual)
            parameters, residual = made.version, made.residual
            down_sizes.append(len(made.payload))
        sizes += [len(payload) for payload in payloads]
        answers = predict_logits(graphs.predict, parameters, dealt.held_out).argmax(axis=1)
        accuracies.append(float((answers == dealt.held_out.labels).mean()))
    accuracy, down_bytes = float(np.mean(accuracies[-setting.judged :])), float(np.mean(down_sizes))
    return Run(accuracy, float(np.mean(sizes)), min(sizes), max(sizes), down_bytes)


class Dealt(NamedTuple):
    """Who holds which samples; no sample is in two places."""

    held_out: Dataset
    devices: Sequence[Dataset]


def deal(setting: Setting, seed: int) -> Dealt:
    """The digits, each class spread over devices by shares from a Dirichlet distribution (Hsu et al. 2019)."""
    images, labels = read_digits()
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(labels))
    everything = Dataset({INPUT: images[order]}, labels[order])
    rest = everything.take(slice(setting.held_out, None))
    shares = rng.dirichlet(np.full(setting.devices, setting.dirichlet), size=CLASSES).cumsum(axis=1)
    owners = (rng.random(len(rest.labels))[:, None] > shares[rest.classes]).sum(axis=1).clip(max=setting.devices - 1)
    owners[: setting.devices] = np.arange(setting.devices)  # nobody has nothing
    devices = [rest.take(np.flatnonzero(owners == device)) for device in range(setting.devices)]
    return Dealt(everything.take(slice(0, setting.held_out)), devices)


@contextmanager
def _opened(contents: Contents, payload: bytes) -> Iterator[UpdateFile]:
    yield contents.open(InMemory(payload), ())


@cache
def _compiled(batch_size: int, seed: int) -> CompiledModel:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        program = export_module(DeviceModel(), (torch.zeros(2, 1, 8, 8),))
    return compile_model(program, batch_size=batch_size)
