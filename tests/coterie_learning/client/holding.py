"""Holds a round of one device, on softmax regression, for tests of local kinds."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from coterie_agent.store.samples import StoredRow
from coterie_agent.training.batches import make_batch
from coterie_agent.training.trainer import open_steps, train_graph
from coterie_learning.client.round import ClientRound, Given, Result
from coterie_learning.client.training import Judge
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.device_plan import DevicePlan
from coterie_learning.device_state import States
from coterie_learning.help.none import NoHelp
from coterie_learning.local import Local
from coterie_learning.privacy.clip import Clip
from coterie_learning.privacy.none import NoPrivacy
from coterie_wire.conditions import Requirements
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import CLASSES, SPEC, parameters, samples, train_step_graph

COUNT = 25
STEPS = open_steps(train_graph(train_step_graph(), SPEC, threads=1), frozen_tensors={})
FEATURES, LABELS = samples(COUNT)
NOTHING: States = MappingProxyType({})


def given(
    local: Local,
    states: States = NOTHING,
    *,
    received: int | Tensors = 0,
    clip: float | None = None,
    server: Mapping[str, Tensors] = MappingProxyType({}),
    number: int = 1,
    exact: bool = False,
) -> Given:
    """The inputs of round `number`, whose samples are always the same; its codec loses nothing where it is `exact`."""
    plan = DevicePlan(
        local=local,
        codec=Int8() if clip is None and not exact else Float32Codec(),
        privacy=NoPrivacy() if clip is None else Clip(norm=clip),
        requirements=Requirements(),
        help=NoHelp(),
    )
    return Given(
        plan=plan,
        model=SPEC,
        received=parameters(received) if isinstance(received, int) else received,
        ids=range(1, COUNT + 1),
        seen=range(CLASSES),
        seed=3,
        secret=5,
        states=states,
        server=server,
        round=number,
    )


def rows(ids: Sequence[int]) -> list[StoredRow]:
    return [StoredRow(id_, FEATURES[id_ - 1].tobytes(), int(LABELS[id_ - 1])) for id_ in ids]


def hold(what: Given, *, restarts: bool = False, steps: int | None = None) -> Result:
    """To its end, or so many `steps`; it `restarts` from a checkpoint before everything that it wants."""
    client = ClientRound(what, STEPS)
    while (wanted := client.training.next_task()) is not None:
        if client.training.steps_done == steps:
            client.training.end_early()
        elif isinstance(wanted, Judge):
            client.training.record_loss(wanted, _loss(wanted.parameters, wanted.ids))
        else:
            teacher = np.full((len(wanted.ids), CLASSES), 1 / CLASSES, np.float32)
            client.training.learn(make_batch(rows(wanted.ids), SPEC, size=SPEC.batch_size), teacher)
        if restarts:
            client = ClientRound(what, STEPS, checkpoint=client.training.checkpoint())
    return client.finish(client.training.trained())


def _loss(tensors: Tensors, ids: Sequence[int]) -> float:
    logits = FEATURES[np.asarray(ids) - 1] @ tensors["weight"].T + tensors["bias"]
    right = np.take_along_axis(logits, LABELS[np.asarray(ids) - 1][:, None], axis=1)[:, 0]
    return float((np.log(np.exp(logits).sum(axis=1)) - right).mean())
