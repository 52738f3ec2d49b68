"""Layers that stay on the device: never sent, gone on with from round to round, and under them what all share."""

from dataclasses import replace

import msgspec
import numpy as np
import pytest

from coterie_agent.training.batches import make_batch
from coterie_learning.client.order import steps_per_epoch
from coterie_learning.client.round import ClientRound, Result, parts_of
from coterie_learning.heads import place, renew, update_specs
from coterie_learning.local import Local
from coterie_learning.local.sgd import Sgd
from coterie_learning.local.shared_body import SharedBody
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.plan import parse_plan, presets, read_plan
from coterie_learning.updates import split_update
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.errors import WireError
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import SPEC, parameters
from tests.coterie_learning.client.holding import COUNT, STEPS, given, rows
from tests.coterie_learning.merge.folding import folded

BIAS = "bias"
EPOCH = steps_per_epoch(len(parts_of(range(1, COUNT + 1), Sgd()).train), SPEC.batch_size)
"""Steps of a pass over the samples that the rounds of `holding` train on."""
SHARED = {"local": {"kind": "shared_body"}}


def held(local: Local, *, personal: Tensors | None = None, steps: int | None = None) -> tuple[Tensors, Result]:
    """The device's model after a round, or so many `steps` of it, and what it sends."""
    client = ClientRound(replace(given(local, exact=True), personal=personal), STEPS)
    while (wanted := client.training.next_task()) is not None:
        if client.training.steps_done == steps:
            client.training.end_early()
        else:
            client.training.learn(make_batch(rows(wanted.ids), SPEC, size=SPEC.batch_size))
    trained = client.training.trained()
    return trained, client.finish(trained)


def sent(local: Local, result: Result) -> Tensors:
    """The tensors of an update, no more and no less, or the codec refuses it."""
    encoded = split_update(result.update.payload, SPEC).encoded
    return given(local, exact=True).plan.codec.decode(encoded, expected=update_specs(SPEC, local.scope(), ()))


def stayed(before: Tensors, after: Tensors) -> set[str]:
    return {name for name in before if before[name].tobytes() == after[name].tobytes()}


def test_its_own_layers_are_trained_and_not_in_the_update() -> None:
    kind = SharedBody(personal=BIAS)
    trained, result = held(kind)
    assert stayed(parameters(), trained) == set()
    assert sent(kind, result).keys() == {"weight"}
    assert b"bias" not in result.update.payload
    whole = held(Sgd())[1]
    assert len(whole.update.payload) - len(result.update.payload) >= parameters()["bias"].nbytes


def test_no_byte_that_leaves_depends_on_what_stays_but_by_way_of_training() -> None:
    """Where the body does not move, updates are the same whatever the device's own layers are."""
    frozen = SharedBody(personal=BIAS, head_epochs=2, epochs=1)
    payloads = set()
    for seed in (3, 4):
        own = {**parameters(), "bias": parameters(seed)["bias"]}
        payloads.add(held(frozen, personal=own, steps=2 * EPOCH)[1].update.payload)
    assert len(payloads) == 1


def test_it_goes_on_with_its_own_layers_on_the_body_that_was_received() -> None:
    kind, own = SharedBody(personal=BIAS), parameters(5)
    after, _ = held(kind, personal=own)
    mixed, _ = held(kind, personal={**parameters(), "bias": own["bias"]})
    fresh, _ = held(kind)
    assert stayed(after, mixed) == {"weight", "bias"}
    assert stayed(after, fresh) == set()


def test_fed_rep_trains_its_own_layers_first_and_then_the_body() -> None:
    kind = SharedBody(personal=BIAS, head_epochs=2, epochs=1)
    half, _ = held(kind, steps=2 * EPOCH)
    assert stayed(parameters(), half) == {"weight"}
    whole, _ = held(kind)
    assert stayed(half, whole) == {"bias"}


def test_the_first_step_on_the_body_is_that_of_descent_with_the_new_layers() -> None:
    kind = SharedBody(personal=BIAS, head_epochs=1, epochs=1)
    half, whole = held(kind, steps=EPOCH)[0], held(kind, steps=EPOCH + 1)[0]
    batch = make_batch(rows(_batch_of(kind, EPOCH)), SPEC, size=SPEC.batch_size)
    x = np.reshape(batch.inputs["pixels"], (SPEC.batch_size, -1))
    logits = x @ half["weight"].T + half["bias"]
    share = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True) - np.eye(SPEC.classes)[batch.target]
    expected = half["weight"] - kind.learning_rate * share.T @ x / SPEC.batch_size
    np.testing.assert_allclose(whole["weight"], expected, atol=1e-5)


def _batch_of(kind: Local, step: int) -> list[int]:
    client = ClientRound(given(kind, exact=True), STEPS)
    for _ in range(step):
        wanted = client.training.next_task()
        client.training.learn(make_batch(rows(wanted.ids), SPEC, size=SPEC.batch_size))  # type: ignore[union-attr]
    return list(client.training.next_task().ids)  # type: ignore[union-attr]


def test_where_nothing_stays_it_is_descent() -> None:
    nothing = SharedBody(personal="no.such.layer", epochs=3)
    assert held(nothing)[1].update.payload == held(Sgd(epochs=3))[1].update.payload


def test_a_version_keeps_the_first_ones_layers_so_that_a_new_device_begins_untrained() -> None:
    """Where it loses: what all devices could have learned together of these layers, none learns of the others."""
    kind = SharedBody(personal=BIAS)
    updates = [place(sent(kind, held(kind)[1]), SPEC, kind.scope(), ()) for _ in range(2)]
    merged = folded(FedAvg(), parameters(), updates).parameters
    assert stayed(parameters(), merged) == {"bias"}


def test_a_version_renews_the_body_under_a_devices_own_layers() -> None:
    own, version = parameters(5), parameters(6)
    renewed = renew(own, version, SPEC, SharedBody(personal=BIAS).scope())
    assert (stayed(own, renewed), stayed(version, renewed)) == ({"bias"}, {"weight"})
    assert renew(own, version, SPEC, Sgd().scope()) is own


def deep(head: bool = True) -> ModelSpec:
    body = TensorSpec("body.weight", "float32", (4, 4))
    return msgspec.structs.replace(SPEC, parameters=(*SPEC.parameters, body), head=SPEC.head if head else None)


def test_head_means_the_output_layer_and_patterns_mean_names() -> None:
    assert SharedBody().scope().personal_layers(deep()) == {"weight", "bias"}
    assert SharedBody(personal="body.* bias").scope().personal_layers(deep()) == {"body.weight", "bias"}


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"merge": {"kind": "distill"}}, "merge distill"),
        ({"help": {"kind": "cartel"}}, "help cartel"),
        ({"rollout": {"kind": "canary"}}, "rollout canary"),
        ({"pace": {"kind": "alone"}}, "pace alone"),
        ({"groups": {"kind": "affinity"}}, "groups affinity"),
        ({"personal": {"kind": "ditto"}}, "shared_body"),
    ],
)
def test_what_needs_whole_models_is_refused_with_a_reason(more: dict[str, object], named: str) -> None:
    plan = read_plan({**SHARED, **more})
    assert any(named in reason.sentence for _, reason in plan.misfits(None, None))
    with pytest.raises(WireError):
        parse_plan({**SHARED, **more})


@pytest.mark.parametrize(
    ("model", "code"),
    [(deep(), None), (SPEC, "plan.nothing_shared"), (deep(head=False), "plan.no_such_layers")],
)
def test_the_model_must_have_layers_that_stay_and_others(model: ModelSpec, code: str | None) -> None:
    plan = parse_plan(SHARED)
    found = plan.local.misfit(plan, model, None)
    assert (None if found is None else found.code) == code


def test_fed_rep_wants_plain_steps_and_fed_per_any() -> None:
    adaptive = msgspec.structs.replace(deep(), scalars=(*SPEC.scalars, "step"))
    for name, code in (("fedper", None), ("fedrep", "plan.does_not_fit")):
        plan = presets()[name]
        found = plan.local.misfit(plan, adaptive, None)
        assert (None if found is None else found.code) == code
