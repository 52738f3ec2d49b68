"""One assignment: the same bytes however often it is interrupted, and nothing the codec lost is lost twice."""

import dataclasses
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_agent.blobs import BlobCache
from coterie_agent.errors import AgentError
from coterie_agent.home import Home
from coterie_agent.model import fetch_model
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.samples import Row
from coterie_agent.training.assignment import Training, read_states
from coterie_agent.training.halt import Halt
from coterie_agent.training.model import Model
from coterie_learning.client.update import make_update
from coterie_learning.device_plan import DevicePlan, parse_device_plan
from coterie_learning.device_state import State, States
from coterie_wire.bundle import BlobRef
from coterie_wire.helping import StandingPlan
from coterie_wire.messages import Assignment
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import SPEC, Bundle, parameters, samples
from tests.coterie_agent.fake_platform import PLAN


def payload_and_states(
    root: Path, bundle: Bundle, halt: Callable[[int], Halt | None], name: str
) -> tuple[bytes, Mapping[str, bytes]]:
    """Train on a fresh home; `halt` decides by the number of times it was asked."""
    with open_store(Home(root / name)) as store:
        features, labels = samples(60)
        store.samples.add([Row(x.tobytes(), int(y)) for x, y in zip(features, labels, strict=True)], max_samples=1000)
        asked = iter(range(10**6))
        while not training(store, root / name, bundle, lambda _: halt(next(asked))).run():
            pass
        offer = store.work.offer()
        assert offer is not None
        payload = store.work.read_payload(0, offer.size_bytes)
        store.work.finish("accepted", "", now=0)
        states = store.work.states("digits")
        assert states.keys() == {"codec"}
        return payload, states


def training(
    store: Store, root: Path, bundle: Bundle, halt: Callable[[float], Halt | None], **slots: Mapping[str, object]
) -> Training:
    blobs = BlobCache(Home(root).blobs)
    fetch_model(
        bundle.manifest, blobs, lambda sha256, offset: iter([bundle.blobs[sha256][offset:]]), stop=lambda: False
    )
    plan = msgspec.json.encode({**PLAN, **slots})
    return Training(
        assignment=Assignment("a1", "digits", 1, msgspec.Raw(plan), bundle.signed, 11, 60.0),
        plan=parse_device_plan(plan),
        model=Model(bundle.manifest, blobs),
        store=store,
        threads=1,
        checkpoint_s=1000,
        halt=halt,
        report=lambda done, total: None,
        record_durations=lambda durations: None,
        rest=lambda worked_s: None,
    )


@pytest.mark.parametrize("every", [2, 5, 11])
def test_an_interrupted_assignment_gives_the_same_bytes(tmp_path: Path, bundle: Bundle, every: int) -> None:
    straight = payload_and_states(tmp_path, bundle, lambda _: None, "straight")
    often = payload_and_states(
        tmp_path, bundle, lambda asked: Halt.PAUSE if asked % (every + 1) == every else None, "often"
    )
    assert often == straight


def test_an_update_tells_the_most_memory_that_training_took_with_its_pauses(
    stocked: Store, home: Home, bundle: Bundle
) -> None:
    asked = iter(range(10**6))
    assert not training(stocked, home.root, bundle, lambda _: Halt.PAUSE if next(asked) == 4 else None).run()
    paused = stocked.work.checkpoint()
    assert paused is not None and paused.progress.memory_bytes > 0
    more = msgspec.structs.replace(paused.progress, memory_bytes=10**15)
    stocked.work.save_checkpoint(msgspec.structs.replace(paused, progress=more))
    assert training(stocked, home.root, bundle, lambda _: None).run()
    offer = stocked.work.offer()
    assert offer is not None and offer.train_memory_bytes == 10**15


def test_no_time_for_a_single_step_gives_the_assignment_back(stocked: Store, home: Home, bundle: Bundle) -> None:
    with pytest.raises(AgentError) as caught:
        training(stocked, home.root, bundle, lambda _: Halt.ENOUGH).run()
    assert caught.value.code == "agent.too_late"


def test_training_rests_after_each_step_for_as_long_as_it_is_told(stocked: Store, home: Home, bundle: Bundle) -> None:
    worked: list[float] = []
    once = dataclasses.replace(training(stocked, home.root, bundle, lambda _: None), rest=worked.append)
    assert once.run()
    offer = stocked.work.offer()
    assert offer is not None and len(worked) == offer.steps_done
    assert all(worked_s > 0 for worked_s in worked)
    assert sum(worked) == pytest.approx(offer.train_s)


@pytest.mark.parametrize("paused", [False, True])
@pytest.mark.parametrize("at", [0, 4, -1])  # as the version is measured, between steps, as what was trained is measured
def test_samples_that_the_owner_replaces_meanwhile_are_learned_from_anew(
    stocked: Store, home: Home, bundle: Bundle, at: int, paused: bool
) -> None:
    features, labels = samples(7)
    others = [Row(x.tobytes(), int(y)) for x, y in zip(features, labels, strict=True)]
    in_all: list[float] = []
    with open_store(Home(home.root / "counted")) as counted:
        given = [Row(row.x, row.label) for row in stocked.samples.load(stocked.samples.ids(stocked.samples.snapshot()))]
        counted.samples.add(given, max_samples=1000)
        assert training(counted, home.root, bundle, in_all.append).run()
    asked, moment = iter(range(10**6)), at % len(in_all)

    def replace(_: float) -> Halt | None:
        if next(asked) != moment:
            return None
        stocked.samples.add(others, max_samples=1000, replace=True)
        return Halt.PAUSE if paused else None

    begun = training(stocked, home.root, bundle, replace)
    assert begun.run() is not paused
    assert not paused or begun.run()
    offer = stocked.work.offer()
    assert offer is not None
    stocked.work.finish("dropped", "", now=0)
    assert training(stocked, home.root, bundle, lambda _: None).run()
    of_others_alone = stocked.work.offer()
    assert of_others_alone is not None
    assert (offer.sha256, offer.samples) == (of_others_alone.sha256, of_others_alone.samples)


OWN = {"kind": "distill", "lambda_d": 1.0, "epochs": 2}
STANDING = StandingPlan("d" * 64, "digits", msgspec.Raw(b"{}"))


@pytest.mark.parametrize("interrupted", [False, True])
def test_a_round_that_trains_the_personal_model_compares_it_with_the_version(
    stocked: Store, home: Home, bundle: Bundle, interrupted: bool
) -> None:
    stocked.peers.set_plan(STANDING)
    asked = iter(range(10**6))

    def halt(_: float) -> Halt | None:
        return Halt.PAUSE if interrupted and next(asked) % 4 == 3 else None

    while not training(stocked, home.root, bundle, halt, local=OWN).run():
        assert stocked.peers.tuned() is None
    tuned = stocked.peers.tuned()
    assert tuned is not None and tuned.own_accuracy is not None and tuned.version_accuracy is not None
    assert (tuned.digest, tuned.compared_with, tuned.answers, tuned.samples) == (STANDING.digest, "v1", True, 12)
    assert tuned.own_accuracy > tuned.version_accuracy


@pytest.mark.parametrize(
    "slots",
    [{}, {"local": OWN, "privacy": {"kind": "secure_aggregation"}}],
    ids=["rounds train the version", "nobody is to see figures"],
)
def test_no_figures_are_kept_of_what_nobody_compares(
    stocked: Store, home: Home, bundle: Bundle, slots: Mapping[str, Mapping[str, object]]
) -> None:
    stocked.peers.set_plan(STANDING)
    assert training(stocked, home.root, bundle, lambda _: None, **slots).run()
    assert stocked.peers.tuned() is None


def test_what_one_update_lost_the_next_one_carries() -> None:
    plan: DevicePlan = parse_device_plan(msgspec.json.encode(PLAN))
    received, trained = parameters(0), parameters(1)
    sent = {name: np.zeros_like(tensor, dtype=np.float64) for name, tensor in received.items()}
    states: States = {}
    rounds = 50
    for seed in range(rounds):
        update = make_update(received, trained, plan=plan, states=states, steps=1, seed=seed, secret=1, model=SPEC)
        states = update.states
        for name, tensor in plan.codec.decode(update.payload, expected=SPEC.parameters).items():
            sent[name] += tensor
    for name in received:
        wanted = rounds * (trained[name].astype(np.float64) - received[name])
        scale = np.abs(trained[name] - received[name]).max() / 100
        np.testing.assert_allclose(sent[name], wanted, atol=2 * scale, rtol=1e-4)


def test_what_an_update_carries_on_is_clipped_with_it() -> None:
    plan = parse_device_plan(msgspec.json.encode({**PLAN, "privacy": {"kind": "clip", "norm": 0.5}}))
    states = {"codec": State({f"delta.{name}": tensor * 100 for name, tensor in parameters(2).items()})}
    update = make_update(parameters(0), parameters(1), plan=plan, states=states, steps=1, seed=1, secret=1, model=SPEC)
    sent = plan.codec.decode(update.payload, expected=SPEC.parameters)
    assert np.sqrt(sum(np.vdot(tensor, tensor) for tensor in sent.values())) == pytest.approx(0.5, rel=0.05)


def test_a_loss_that_is_no_number_ends_training_before_anything_is_kept(
    stocked: Store, home: Home, bundle: Bundle
) -> None:
    boundless = {name: tensor * np.float32(1e38) for name, tensor in parameters(0).items()}
    content = encode_tensors(boundless)
    ref = BlobRef.of_bytes(content)
    manifest = msgspec.structs.replace(bundle.manifest, parameters=ref)
    spoiled = dataclasses.replace(bundle, manifest=manifest, blobs={**bundle.blobs, ref.sha256: content})
    with pytest.raises(AgentError) as caught:
        training(stocked, home.root, spoiled, lambda _: None).run()
    assert caught.value.code == "agent.diverged"
    assert stocked.work.checkpoint() is None


def test_a_residual_of_other_shapes_is_dropped() -> None:
    plan = parse_device_plan(msgspec.json.encode(PLAN))
    states = {"codec": State({"delta.weight": np.ones((9, 9), np.float32)})}
    clean, other = (
        make_update(parameters(0), parameters(1), plan=plan, states=found, steps=1, seed=1, secret=1, model=SPEC)
        for found in ({}, states)
    )
    assert other.payload == clean.payload


def test_a_codec_that_does_not_feed_back_leaves_no_residual_and_takes_none() -> None:
    plan = parse_device_plan(msgspec.json.encode({**PLAN, "codec": {"kind": "top_k", "feedback": False}}))
    fed = parse_device_plan(msgspec.json.encode({**PLAN, "codec": {"kind": "top_k"}}))
    clean = make_update(parameters(0), parameters(1), plan=plan, states={}, steps=1, seed=1, secret=1, model=SPEC)
    states = make_update(
        parameters(0), parameters(1), plan=fed, states={}, steps=1, seed=1, secret=1, model=SPEC
    ).states
    other = make_update(parameters(0), parameters(1), plan=plan, states=states, steps=1, seed=1, secret=1, model=SPEC)
    assert not states["codec"].is_empty
    assert clean.states["codec"].is_empty
    assert other.payload == clean.payload


def test_a_state_that_was_damaged_is_said_and_forgotten(
    stocked: Store, home: Home, bundle: Bundle, caplog: pytest.LogCaptureFixture
) -> None:
    once = training(stocked, home.root, bundle, lambda _: None)
    stocked.work.accept(once.assignment)
    assert once.run()
    stocked.work.finish("accepted", "", now=0)
    assert read_states(stocked, "digits").keys() == {"codec"}
    with stocked.work._database.transaction() as cursor:
        (content,) = cursor.execute("SELECT content FROM device_state").fetchone()
        damaged = content[:-1] + bytes([content[-1] ^ 1])
        cursor.execute("UPDATE device_state SET content = ?", (damaged,))
    assert read_states(stocked, "digits") == {}
    assert "state.damaged" in caplog.text
    assert training(stocked, home.root, bundle, lambda _: None).run(), "it goes on without"
