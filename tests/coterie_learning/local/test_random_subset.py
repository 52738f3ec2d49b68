"""A random part is trained and sent: no more travels, the mean over devices is right, and few devices lose by it."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import msgspec
import numpy as np
import pytest

from coterie_agent.training.batches import make_batch
from coterie_learning.client.round import ClientRound, Given, Result
from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.codec.sparse_levels import SparseLevels
from coterie_learning.fold import CountedUpdate, fold_in_memory
from coterie_learning.local import Local
from coterie_learning.local.random_subset import RandomSubset
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.plan import plan_document, presets, read_plan
from coterie_learning.subsets import chosen, draw_of
from coterie_learning.update_files import Contents, UpdateFile
from coterie_learning.update_sizes import update_bytes
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_learning.client.holding import FEATURES, LABELS, NOTHING, STEPS, given, rows

UNIFORM = {"kind": "fed_avg", "weight_by": "uniform"}
QUARTER = RandomSubset(share=0.25, epochs=3)


def held(what: Given, *, steps: int | None = None) -> tuple[Tensors, Result]:
    """The device's model after its part, or so many `steps` of it, and what it sends."""
    client = ClientRound(what, STEPS)
    while (wanted := client.training.next_task()) is not None:
        if client.training.steps_done == steps:
            client.training.end_early()
        else:
            client.training.learn(make_batch(rows(wanted.ids), SPEC, size=SPEC.batch_size))
    trained = client.training.trained()
    return trained, client.finish(trained)


def read(local: Local, codec: Codec, payload: bytes) -> Tensors:
    """The update as a merge reads it."""
    file = Contents(SPEC, codec, local).open(InMemory(payload), ())
    return {
        spec.name: file.numbers(spec.name, 0, int(np.prod(spec.shape))).reshape(spec.shape) for spec in SPEC.parameters
    }


def sent(local: Local, *, seed: int = 3, steps: int | None = None) -> Tensors:
    what = replace(given(local, exact=True), seed=seed)
    return read(local, Float32Codec(), held(what, steps=steps)[1].update.payload)


@pytest.mark.parametrize("exact", [True, False])
def test_where_the_share_is_one_it_is_descent_byte_for_byte(exact: bool) -> None:
    whole, plain = (held(given(one, exact=exact))[1].update for one in (RandomSubset(share=1, epochs=3), Sgd(epochs=3)))
    assert whole.payload == plain.payload


def test_nothing_but_the_subset_is_trained() -> None:
    trained, _ = held(given(QUARTER))
    positions = chosen(SPEC.parameters, QUARTER.share, draw_of(3))
    for name, before in parameters().items():
        moved = np.flatnonzero(trained[name] != before)
        np.testing.assert_array_equal(moved, positions[name])


def test_nothing_but_the_subset_is_sent_and_it_is_longer_by_what_is_left_out() -> None:
    trained, result = held(given(QUARTER, exact=True))
    found = read(QUARTER, Float32Codec(), result.update.payload)
    positions = chosen(SPEC.parameters, QUARTER.share, draw_of(3))
    for name, before in parameters().items():
        factor = before.size / len(positions[name])
        np.testing.assert_allclose(found[name], factor * (trained[name] - before), rtol=1e-6)
        assert np.count_nonzero(found[name]) == len(positions[name])


@pytest.mark.parametrize("codec", [Float32Codec(), Int8(), SparseLevels()], ids=repr)
def test_it_takes_the_bytes_that_were_said_and_fewer_than_all(codec: Codec) -> None:
    what = given(QUARTER)
    payload = held(replace(what, plan=msgspec.structs.replace(what.plan, codec=codec)))[1].update.payload
    said = update_bytes(QUARTER, codec, SPEC)
    assert said.least <= len(payload) <= said.most
    with pytest.raises(WireError):
        Contents(SPEC, codec, QUARTER).open(InMemory(payload[:-8]), ())


def test_other_rounds_have_other_subsets() -> None:
    moved = {tuple(np.flatnonzero(sent(QUARTER, seed=seed)["weight"]).tolist()) for seed in range(20)}
    assert len(moved) > 10


def test_the_first_step_on_the_subset_is_that_of_descent_so_that_the_mean_over_subsets_is_right() -> None:
    """Every parameter is in the subset with the probability by which it is divided: `test_subsets`."""
    part, whole = sent(RandomSubset(share=0.5), steps=1), sent(Sgd(), steps=1)
    positions = chosen(SPEC.parameters, 0.5, draw_of(3))
    for name, tensor in whole.items():
        factor = tensor.size / len(positions[name])
        picked = part[name].reshape(-1)[positions[name]]
        np.testing.assert_allclose(picked, factor * tensor.reshape(-1)[positions[name]], rtol=1e-6)


def test_what_the_codec_lost_of_a_parameter_waits_until_it_is_chosen_again() -> None:
    first = held(given(QUARTER))[1].update
    later = held(replace(given(QUARTER, first.states), seed=4))[1].update
    before, after = (one.states["codec"].tensors["delta.weight"] for one in (first, later))
    now = np.zeros(before.size, np.bool_)
    now[chosen(SPEC.parameters, QUARTER.share, draw_of(4))["weight"]] = True
    assert np.any(before) and np.any(before.reshape(-1)[~now])
    np.testing.assert_array_equal(after.reshape(-1)[~now], before.reshape(-1)[~now])


def test_a_merge_gives_the_same_bits_with_any_blocks() -> None:
    payloads = [held(replace(given(QUARTER, exact=True), seed=seed))[1].update.payload for seed in range(3)]
    contents = Contents(SPEC, Float32Codec(), QUARTER)

    @contextmanager
    def opened(payload: bytes) -> Iterator[UpdateFile]:
        yield contents.open(InMemory(payload), ())

    def merged(block: int | None) -> Tensors:
        counted = [CountedUpdate(partial(opened, payload), place) for place, payload in enumerate(payloads, start=1)]
        return fold_in_memory(FedAvg(), SPEC.parameters, counted, parameters(), None, block=block).parameters

    whole = merged(None)
    for block in (1, 3, 5):
        assert all(np.array_equal(tensor, whole[name]) for name, tensor in merged(block).items())
    updates = [read(QUARTER, Float32Codec(), payload) for payload in payloads]
    for name, tensor in whole.items():
        mean = (updates[0][name] + 2.0 * updates[1][name] + 3.0 * updates[2][name]) / 6
        np.testing.assert_allclose(tensor - parameters()[name], mean, atol=1e-6)


@pytest.mark.parametrize("draw", [-1, -(2**63)])
def test_a_subset_that_none_can_be_is_refused(draw: int) -> None:
    payload = bytearray(held(given(QUARTER, exact=True))[1].update.payload)
    payload[-8:] = draw.to_bytes(8, "little", signed=True)
    with pytest.raises(WireError) as caught:
        Contents(SPEC, Float32Codec(), QUARTER).open(InMemory(bytes(payload)), ())
    assert caught.value.code == "update.out_of_range"


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ({"merge": {"kind": "median"}}, "plan.sent_in_part"),
        ({"merge": {"kind": "krum"}}, "plan.sent_in_part"),
        ({"merge": {"kind": "distill"}}, "plan.sent_in_part"),
        ({"merge": {"kind": "trusted_root"}}, "plan.root_cannot_learn"),
        (plan_document(presets()["secure"]), "plan.sent_in_part"),
        ({"merge": {"kind": "norm_bound"}}, None),
        ({"privacy": {"kind": "central_noise"}, "merge": UNIFORM}, None),
        ({"merge": {"kind": "fed_adam"}, "codec": {"kind": "sparse_levels"}, "pace": {"kind": "buffered"}}, None),
    ],
)
def test_what_looks_at_each_update_by_itself_is_refused(more: dict[str, object], code: str | None) -> None:
    plan = read_plan({**more, "local": {"kind": "random_subset"}})
    codes = {reason.code for _, reason in plan.misfits(SPEC, None)}
    assert (code in codes) if code else not codes
    whole = read_plan({**more, "local": {"kind": "random_subset", "share": 1}})
    assert "plan.sent_in_part" not in {reason.code for _, reason in whole.misfits(SPEC, None)}


def loss_after(local: Local, *, devices: int, rounds: int) -> float:
    """Of versions that `devices` with the same samples have made."""
    version = parameters()
    for number in range(rounds):
        updates = []
        for device in range(devices):
            what = replace(given(local, NOTHING, received=version, exact=True), seed=100 * number + device)
            updates.append(read(local, Float32Codec(), held(what)[1].update.payload))
        version = {
            name: (tensor + np.mean([one[name] for one in updates], axis=0)).astype(np.float32)
            for name, tensor in version.items()
        }
    logits = FEATURES @ version["weight"].T + version["bias"]
    right = np.take_along_axis(logits, LABELS[:, None], axis=1)[:, 0]
    return float((np.log(np.exp(logits).sum(axis=1)) - right).mean())


def test_it_loses_where_few_devices_share_a_round_and_the_less_the_more_there_are() -> None:
    """Negative control: a parameter then learns from hardly any device, by steps that are longer for it."""
    few, many, whole = (
        loss_after(RandomSubset(share=0.1), devices=1, rounds=12),
        loss_after(RandomSubset(share=0.1), devices=24, rounds=12),
        loss_after(Sgd(), devices=1, rounds=12),
    )
    assert few > 2 * whole
    assert abs(many - whole) < abs(few - whole) / 2
