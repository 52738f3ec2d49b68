"""A fleet's outcome is a function of its arguments alone, and that of the agent's own code."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from coterie.privacy.accounting import cost_of
from coterie.privacy.accounting import epsilon_of as charged
from coterie.privacy.models import DEFAULT_DELTA
from coterie.simulation.bodies import Body
from coterie.simulation.costs import Costs
from coterie.simulation.errors import DamagedSimulation, DoesNotFit, MalformedFile, OtherSimulation
from coterie.simulation.fleet import side_by_side
from coterie.simulation.fleet.block import Base, Block, DeviceResult, Member, encode_version
from coterie.simulation.fleet.checkpoint import STATE, load
from coterie.simulation.fleet.fleet_run import FleetRun
from coterie.simulation.fleet.population import Drawn
from coterie.simulation.fleet.profile import FleetProfile
from coterie.simulation.fleet.setting import Setting, unusable
from coterie.simulation.fleet.side_by_side import TOLERANCE, SideBySide
from coterie.simulation.fleet.simulate_fleet import simulate_fleet
from coterie.simulation.fleet.splits import Int64
from coterie.simulation.fleet.splits.dirichlet import Dirichlet
from coterie.simulation.fleet.work import Work
from coterie.simulation.progress import SimulationProgress, unreported
from coterie.simulation.scenario import Habits, Speed, read_toml
from coterie_learning.contribution import sent_bytes
from coterie_learning.exact_sum import GRID
from coterie_learning.pace import Decision
from coterie_learning.pace.sync import Sync
from coterie_learning.plan import PRESETS, parse_plan
from coterie_learning.privacy import Spend
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from tests.coterie.simulation.fleet.fleets import CLASSES, PLAN, SAMPLES, compiled, graphs, run, samples

UNIFORM = {"kind": "fed_avg", "weight_by": "uniform"}
BUFFERED = {"kind": "buffered", "buffer": 6, "at_work": 18}
SLEEPERS = FleetProfile(habits=Habits(charging=(22.0, 6.0), spread_h=1.0))


def outcome_of(given: FleetRun, keep: Path | None = None) -> bytes:
    return simulate_fleet(given, report=unreported, keep=keep).json()


def test_devices_learn_together() -> None:
    outcome = simulate_fleet(run(rounds=8), report=unreported)
    assert outcome.accuracy > 0.8 > 1 / CLASSES
    assert [one.outcome for one in outcome.rounds] == ["merged"] * 8
    assert {one.delivered for one in outcome.rounds} == {12}
    assert all(one.invited == 18 for one in outcome.rounds)
    assert outcome.client_rounds == 8 * 12, "only the updates that count are computed"
    assert (outcome.executor, outcome.executor_reason) == ("batched", "")
    over_devices = outcome.device_accuracy
    assert 0.5 < over_devices.worst_decile <= over_devices.median <= 1 and outcome.devices_measured == 40
    assert outcome.bytes_per_device > sum(outcome.bytes_by_kind.values()) / outcome.participants, "framing comes on top"
    assert outcome.joules_per_device > Costs().processor_w * outcome.trained_s / outcome.participants, "so does radio"


@pytest.mark.long
@pytest.mark.parametrize(
    "slots", [{}, {"codec": {"kind": "int8"}}, {"pace": BUFFERED}, {"personal": {"kind": "ditto", "epochs": 2}}]
)
def test_any_number_of_workers_gives_the_same_bytes(slots: dict[str, object]) -> None:
    one, two = (outcome_of(run(workers=workers, **slots)) for workers in (1, 2))
    assert one == two


@pytest.mark.parametrize("body", ["mlp", "cnn"])
@pytest.mark.parametrize("local", [{"kind": "sgd", "momentum": 0.5}, {"kind": "prox", "mu": 0.5}])
@pytest.mark.parametrize("pace", [PLAN["pace"], BUFFERED], ids=["sync", "buffered"])
def test_side_by_side_is_one_by_one_within_the_tolerance(
    body: Body, local: dict[str, object], pace: object, tmp_path: Path
) -> None:
    """Under asynchronous rounds devices that different rounds asked train from different versions."""
    plan = parse_plan({**PLAN, "local": {**local, "epochs": 3, "learning_rate": 0.2}, "pace": pace})
    data = samples().data
    mixes = np.random.default_rng(0).dirichlet(np.ones(CLASSES), 6)
    setting = Setting(plan, graphs(body), data, Drawn.from_mixes(mixes, data.classes, each=23, seed=3), 7)
    versions = 1 if pace == PLAN["pace"] else 3
    for number in range(versions):
        received = {name: tensor * (1 + number / 2) for name, tensor in compiled(body).parameters.items()}
        (tmp_path / f"{number}").write_bytes(encode_version(Base(received, {}, number)))
    members = [
        Member(device, 4 + device % versions, str(tmp_path / f"{device % versions}"), steps, 1)
        for device, steps in enumerate((1, 2, 4, 11, 12, 99))
    ]
    many = SideBySide.of(plan, setting.graphs.spec, compiled(body).train_step, most_steps=12)
    together, alone = (Work(setting, way).train(Block(0, members, False, False)) for way in (many, None))
    assert [one.samples for one in together.found] == [one.samples for one in alone.found]
    assert [one.size_bytes for one in together.found] == [one.size_bytes for one in alone.found]
    for name, content in alone.sums.items():
        one, other = (np.frombuffer(numbers, np.int64) * GRID for numbers in (content, together.sums[name]))
        np.testing.assert_allclose(other, one, rtol=0, atol=TOLERANCE * float(np.abs(one).max()))


@pytest.mark.parametrize("codec", ["float32", "int8"])
def test_updates_of_a_small_buffer_are_computed_together_and_are_the_same_bytes_as_each_by_itself(
    codec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlike = FleetProfile(speed=Speed(sample_s=0.05, spread=1.0))
    pace = {"kind": "buffered", "buffer": 3, "at_work": 18}
    few = replace(run(rounds=15, executor="batched", codec={"kind": codec}, pace=pace), fleet=unlike)
    blocks: list[Block] = []
    train = SideBySide.train

    def counted(this: SideBySide, setting: Setting, block: Block) -> tuple[Sequence[DeviceResult], Mapping[str, Int64]]:
        blocks.append(block)
        return train(this, setting, block)

    monkeypatch.setattr(SideBySide, "train", counted)
    together = outcome_of(few)
    assert [len(one.members) for one in blocks] == [3] * len(blocks)
    assert any(len({one.version for one in block.members}) > 1 for block in blocks), "they began with different ones"
    together_in = len(blocks)
    monkeypatch.setattr(side_by_side, "MOST", 1)
    assert outcome_of(few) == together
    assert len(blocks) == 4 * together_in


@pytest.mark.parametrize("slots", [{}, {"pace": BUFFERED}])
def test_accuracy_does_not_depend_on_the_executor(slots: dict[str, object]) -> None:
    exact, batched = (
        simulate_fleet(run(executor=which, rounds=4, **slots), report=unreported) for which in ("exact", "batched")
    )
    for one, other in zip(exact.rounds, batched.rounds, strict=True):
        assert one.accuracy == pytest.approx(other.accuracy, abs=0.005)
        assert (one.opened_s, one.ended_s) == (other.opened_s, other.ended_s)


@pytest.mark.long
def test_it_goes_on_after_a_kill(tmp_path: Path) -> None:
    """A child is killed in the middle of a round; what goes on in its directory ends with the same bytes."""
    script = tmp_path / "child.py"
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from coterie.simulation.fleet import simulate_fleet as module\n"
        "from tests.coterie.simulation.fleet.fleets import run\n"
        "module.SAVED_EVERY_S = 0.0\n"
        "def told(progress): print(progress.rounds, flush=True)\n"
        "module.simulate_fleet(run(rounds=40), report=told, keep=Path(sys.argv[1]))\n"
    )
    keep = tmp_path / "kept"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, str(script), str(keep)], stdout=subprocess.PIPE, text=True, env=environment
    ) as child:
        assert child.stdout is not None
        for line in child.stdout:
            if int(line) >= 3:
                break
        child.send_signal(signal.SIGKILL)
    given = run(rounds=40)
    told: list[SimulationProgress] = []
    went_on = simulate_fleet(given, report=told.append, keep=keep).json()
    assert told[0].rounds >= 3
    assert went_on == outcome_of(given)
    assert outcome_of(given, keep) == went_on, "what has ended is told again"


@pytest.mark.parametrize(
    "slots",
    [
        {"local": {"kind": "scaffold", "learning_rate": 0.1}, "merge": {"kind": "scaffold"}, "codec": {"kind": "int8"}},
        {"down": {"kind": "difference"}},
        {"pace": BUFFERED},
        {"personal": {"kind": "ditto", "epochs": 2}},
        {"pace": BUFFERED, "local": {"kind": "shared_body", "learning_rate": 0.1}},
        {"merge": UNIFORM, "privacy": {"kind": "central_noise", "norm": 0.1, "quantile": 0.5}},
        {"merge": UNIFORM, "privacy": {"kind": "correlated_noise", "norm": 0.1, "separation_rounds": 2}},
    ],
)
def test_what_devices_and_the_platform_remember_is_kept_too(slots: dict[str, object], tmp_path: Path) -> None:
    whole = outcome_of(run(rounds=4, **slots))
    short = run(rounds=4, **slots)

    class Killed(Exception):
        pass

    def stop(progress: SimulationProgress) -> None:
        if progress.rounds == 3:
            raise Killed

    keep = tmp_path / "kept"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("coterie.simulation.fleet.simulate_fleet.SAVED_EVERY_S", 0.0)
        with pytest.raises(Killed):
            simulate_fleet(short, report=stop, keep=keep)
    assert outcome_of(short, keep) == whole


def test_a_directory_is_of_one_simulation(tmp_path: Path) -> None:
    outcome_of(run(rounds=1), tmp_path)
    with pytest.raises(OtherSimulation, match="seed"):
        outcome_of(replace(run(rounds=1), seed=1), tmp_path)


def test_where_nothing_can_be_kept_it_does_not_begin(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    with pytest.raises(MalformedFile, match="nothing can be kept there"):
        outcome_of(run(rounds=1), path)


def test_a_damaged_state_is_refused(tmp_path: Path) -> None:
    outcome_of(run(rounds=1), tmp_path)
    path = tmp_path / STATE
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises(DamagedSimulation):
        outcome_of(run(rounds=1), tmp_path)


def test_a_version_that_devices_are_at_work_on_must_be_there(tmp_path: Path) -> None:
    """Beside what was kept after a round; without it nothing could go on."""
    outcome_of(run(rounds=3, pace=BUFFERED), tmp_path)
    for path in tmp_path.glob("version-*"):
        path.unlink()
    with pytest.raises(DamagedSimulation, match="version"):
        outcome_of(run(rounds=3, pace=BUFFERED), tmp_path)


def test_versions_that_nobody_trains_from_are_removed(tmp_path: Path) -> None:
    outcome_of(run(rounds=30, pace=BUFFERED), tmp_path)
    kept = load(tmp_path)
    assert kept is not None and kept.newest.number == 30
    numbers = {int(path.stem.removeprefix("version-")) for path in tmp_path.glob("version-*")}
    assert numbers >= {one.version for one in kept.coming} | {one.version for one in kept.waiting}
    assert len(numbers) < 15 and 0 not in numbers


@pytest.mark.parametrize("merge", ["median", "krum", "trimmed_mean", "fed_adam", "q_fed_avg", "fed_nova"])
def test_other_merges_hold_rounds_too(merge: str) -> None:
    halves = {"q_fed_avg": "q_fed_avg", "fed_nova": "fed_nova"}
    local = {"kind": halves.get(merge, "sgd"), "learning_rate": 0.1}
    outcome = simulate_fleet(run(rounds=2, merge={"kind": merge}, local=local), report=unreported)
    assert [one.outcome for one in outcome.rounds] == ["merged", "merged"]
    assert (outcome.executor == "exact") == (merge in halves)
    assert (merge in outcome.executor_reason) == (merge in halves)


def test_a_plan_that_diverges_says_so() -> None:
    outcome = simulate_fleet(
        run(rounds=2, local={"kind": "sgd", "learning_rate": 100.0, "epochs": 20}), report=unreported
    )
    assert sum(one.diverged for one in outcome.rounds) > 0


def test_what_a_kind_sends_that_is_no_update_is_told_and_is_no_divergence() -> None:
    assert unusable(3, WireError("update.not_finite", "infinite")) == DeviceResult(3, 0)
    with pytest.raises(WireError, match="for"):
        unusable(3, WireError("update.wrong_shape", "[1, 4] for [8, 4]"))


def test_nobody_trains_before_the_night() -> None:
    night = replace(run(rounds=2, requirements={"charging": True}), fleet=SLEEPERS)
    outcome = simulate_fleet(night, report=unreported)
    hours = [one.opened_s / 3600 % 24 for one in outcome.rounds]
    assert all(hour < 8 or hour > 20 for hour in hours)


def test_after_the_last_release_of_a_stream_no_round_opens() -> None:
    stream = {"kind": "correlated_noise", "norm": 0.1, "separation_rounds": 3, "target_rounds": 5}
    outcome = simulate_fleet(replace(run(rounds=9, merge=UNIFORM, privacy=stream), days=0.5), report=unreported)
    assert (len(outcome.rounds), outcome.ended) == (5, "horizon")


def test_a_platform_that_compares_with_samples_of_its_own_leaves_the_rest_to_devices() -> None:
    root = run(rounds=2, merge={"kind": "trusted_root", "samples": 100})
    outcome = simulate_fleet(replace(root, each=None), report=unreported)
    assert (outcome.samples, outcome.held_out, outcome.rounds[-1].outcome) == (SAMPLES - 80 - 100, 80, "merged")
    with pytest.raises(DoesNotFit, match="none is left for devices"):
        simulate_fleet(run(merge={"kind": "trusted_root", "samples": SAMPLES}), report=unreported)


def test_without_anybody_it_ends_with_the_horizon() -> None:
    never = replace(
        run(requirements={"charging": True}), fleet=FleetProfile(habits=Habits(charging=(0.0, 0.0))), days=2.0
    )
    outcome = simulate_fleet(never, report=unreported)
    assert (outcome.ended, outcome.rounds) == ("horizon", ())


@pytest.mark.parametrize(
    ("preset", "why"),
    [
        ("isolated", "no rounds.*--drift steady"),
        ("colla", "when samples came.*--drift"),
        ("ridge", "no tables"),
        ("cartel", "no rounds|data that change"),
    ],
)
def test_what_a_fleet_would_get_wrong_is_refused(preset: str, why: str) -> None:
    plan = parse_plan(read_toml(PRESETS / f"{preset}.toml"))
    with pytest.raises(DoesNotFit, match=why):
        simulate_fleet(replace(run(), plan=plan), report=unreported)


def test_noise_on_sums_is_in_the_versions() -> None:
    little, much = (
        simulate_fleet(
            run(rounds=8, merge=UNIFORM, privacy={"kind": "central_noise", "norm": 10, "noise_multiplier": noise}),
            report=unreported,
        ).accuracy
        for noise in (1e-3, 10)
    )
    assert little > 0.8 > 0.5 > much


def test_models_of_their_own_are_measured_on_devices() -> None:
    """Where people differ, what devices train beside the version is more exact on what they hold out."""
    slow: dict[str, object] = {"local": {"kind": "sgd", "learning_rate": 0.01}}
    tuned = {"kind": "fine_tuned", "epochs": 20, "learning_rate": 0.1}
    plain, personal = (
        simulate_fleet(replace(run(rounds=3, **slots), split=Dirichlet(0.05), each=60), report=unreported)
        for slots in (slow, {**slow, "personal": tuned})
    )
    assert (plain.devices_with_own, plain.executor) == (0, "batched")
    assert 0 < personal.devices_with_own <= personal.devices_measured and personal.executor == "batched"
    assert [one.accuracy for one in personal.rounds] == [one.accuracy for one in plain.rounds], "versions are the same"
    assert personal.device_accuracy.mean > plain.device_accuracy.mean
    assert personal.trained_s > plain.trained_s


def test_what_is_told_of_devices_is_what_the_platform_would_charge() -> None:
    """Every device is asked in every round: each release of sums costs it once, each update of its own, too."""
    pace = {"kind": "sync", "target_updates": 40, "min_updates": 40, "over_selection": 1.0}
    for kind, norms in (("central_noise", 1), ("local_noise", 1)):
        privacy = {"kind": kind, "norm": 1.0, "noise_multiplier": 2.0}
        outcome = simulate_fleet(run(rounds=3, merge=UNIFORM, pace=pace, privacy=privacy), report=unreported)
        spend = Spend(2.0, norms)
        assert outcome.epsilon == pytest.approx(charged(3 * cost_of(spend), DEFAULT_DELTA), rel=1e-6)
    assert simulate_fleet(run(rounds=1), report=unreported).epsilon is None


def test_under_masks_devices_send_vectors_and_learn_the_same() -> None:
    pace = {"kind": "sync", "target_updates": 12, "min_updates": 10}
    given = run(merge=UNIFORM, pace=pace, privacy={"kind": "secure_aggregation", "min_devices": 10, "norm": 10})
    plain, masked = (simulate_fleet(one, report=unreported) for one in (run(merge=UNIFORM, pace=pace), given))
    assert masked.accuracy == pytest.approx(plain.accuracy, abs=0.05)
    sent = sum(one.invited for one in masked.rounds)
    assert masked.bytes_by_kind["updates"] == sent * sent_bytes(given.plan, given.model.spec).usual


def test_versions_travel_as_differences_to_who_holds_the_one_before() -> None:
    """Every device takes part in every round, so that it has each version but the first as a difference."""
    pace = {"kind": "sync", "target_updates": 40, "min_updates": 40, "over_selection": 1.0}
    whole, less = (
        simulate_fleet(run(rounds=4, pace=pace, down={"kind": down}), report=unreported)
        for down in ("whole", "difference")
    )
    assert less.bytes_by_kind["versions"] < 0.7 * whole.bytes_by_kind["versions"]
    assert less.messages_by_kind["versions"] == whole.messages_by_kind["versions"] == 4 * 40


def test_who_asks_for_side_by_side_gets_it_or_the_reason() -> None:
    with pytest.raises(DoesNotFit, match=r"side by side.*scaffold"):
        simulate_fleet(
            run(executor="batched", local={"kind": "scaffold"}, merge={"kind": "scaffold"}), report=unreported
        )


def test_a_pace_that_ends_no_round_is_refused_instead_of_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    for_ever = Decision("wait", Reason("rounds.collecting", "more may come"))
    monkeypatch.setattr(Sync, "decide", lambda _pace, _view: for_ever)
    with pytest.raises(DoesNotFit, match="pace sync does not end a round at its deadline"):
        outcome_of(run())
