"""Attacks win where nothing protects and lose where a guarantee holds against them; each is a control of the others."""

from collections.abc import Mapping
from functools import cache
from pathlib import Path

import msgspec
import numpy as np
import pytest
from django.core.management import CommandError, call_command

from coterie.simulation.attacks.audit import AttackResult, Audit, audit, most_allowed
from coterie.simulation.attacks.inversion import first_layer, inverted
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.progress import unreported
from coterie.simulation.scenario import Scenario, parse_scenario
from coterie_learning.plan import parse_plan
from coterie_wire.bundle import ModelSpec, TensorSpec

COHORT = 4
trials_of_each = pytest.mark.parametrize("trials", [24, pytest.param(60, marks=pytest.mark.long)])
SCENARIO: dict[str, object] = {
    "title": "Small",
    "devices": COHORT,
    "window": 3,
    "stream": {
        "kind": "digits",
        "batches": 2,
        "batch_size": 30,
        "batch_s": 60,
        "noise": 0.1,
        "profiles": [{"classes": [0, 1, 2, 3, 4]}, {"classes": [5, 6, 7, 8, 9]}],
    },
    "learner": {"kind": "neural", "hidden": 8, "batch_size": 10},
    "speed": {"sample_s": 0.05},
}
PLAN: Mapping[str, object] = {
    "local": {"kind": "sgd", "epochs": 1, "learning_rate": 0.1},
    "codec": {"kind": "float32"},
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "pace": {"kind": "sync", "target_updates": COHORT, "min_updates": 3, "over_selection": 1},
}
SUMMED = {"min_devices": 3, "corrupted": 0.0, "dropped": 0.25}


def scenario(**changes: object) -> Scenario:
    return parse_scenario({**SCENARIO, **changes}, path="small.toml")


@cache
def found(kind: str, trials: int) -> Audit:
    fields = {
        "none": {},
        "central_noise": {"norm": 0.5, "noise_multiplier": 2.0},
        "local_noise": {"norm": 0.5, "noise_multiplier": 2.0},
        "secure_aggregation": {**SUMMED, "norm": 1.0},
        "distributed_noise": {**SUMMED, "norm": 0.5, "noise_multiplier": 2.0},
    }[kind]
    plan = parse_plan({**PLAN, "privacy": {"kind": kind, **fields}})
    return audit(plan, scenario(), trials=trials, samples=10, seed=3, report=unreported)


def of(audited: Audit, attack: str, attacker: str) -> AttackResult:
    (one,) = [one for one in audited.found if (one.attack, one.attacker) == (attack, attacker)]
    return one


@pytest.mark.long
@trials_of_each
def test_without_privacy_the_platform_learns_who_trained_and_on_what(trials: int) -> None:
    for attack in ("membership", "inversion"):
        assert of(found("none", trials), attack, "the platform").private.value > 0.6


@pytest.mark.long
@trials_of_each
@pytest.mark.parametrize(
    ("kind", "protected"),
    [
        ("central_noise", {"who has versions"}),
        ("local_noise", {"the platform", "who has versions"}),
        ("distributed_noise", {"the platform", "who has versions"}),
    ],
)
def test_noise_holds_against_whom_it_is_meant_for_and_nobody_else(kind: str, protected: set[str], trials: int) -> None:
    audited = found(kind, trials)
    assert audited.noise_multiplier == 2.0
    allowed = most_allowed(2.0)
    for one in audited.found:
        if one.attacker in protected:
            assert one.private.value <= allowed + 4 * max(one.private.error, 0.05), one
        else:
            assert one.private.value > 0.5, one


@pytest.mark.long
@trials_of_each
def test_a_sum_hides_single_samples_and_not_that_a_device_is_in_it(trials: int) -> None:
    audited = found("secure_aggregation", trials)
    assert of(audited, "inversion", "the platform").private.value < 0.5
    assert of(audited, "inversion", "the platform").plain.value > 0.9
    assert of(audited, "membership", "the platform").private.value > 0.3, "few devices: the sum tells"
    assert audited.noise_multiplier is None


@pytest.mark.long
def test_the_same_arguments_find_the_same() -> None:
    plan = parse_plan({**PLAN, "privacy": {"kind": "local_noise"}})
    one, other = (audit(plan, scenario(), trials=10, samples=5, seed=1, report=unreported) for _ in range(2))
    assert msgspec.json.encode(one) == msgspec.json.encode(other)


def test_a_dense_layer_gives_its_input_away() -> None:
    rng = np.random.default_rng(0)
    picture, back = rng.standard_normal(64), rng.standard_normal(8)
    change = {"w.weight": np.outer(back, picture).astype(np.float32), "w.bias": back.astype(np.float32)}
    np.testing.assert_allclose(inverted(change, ("w.weight", "w.bias")), picture, rtol=1e-5)
    nothing = {name: np.zeros_like(tensor) for name, tensor in change.items()}
    assert not inverted(nothing, ("w.weight", "w.bias")).any()


def test_only_a_dense_layer_that_reads_the_input_can_be_inverted() -> None:
    def model(*parameters: TensorSpec) -> ModelSpec:
        inputs = (TensorSpec("x", "float32", (1, 8, 8)),)
        return ModelSpec.of_classifier(inputs=inputs, classes=3, batch_size=2, parameters=parameters)

    weight, bias = TensorSpec("a.weight", "float32", (5, 64)), TensorSpec("a.bias", "float32", (5,))
    assert first_layer(model(weight, bias)) == ("a.weight", "a.bias")
    assert first_layer(model(weight)) is None
    assert first_layer(model(TensorSpec("a.weight", "float32", (5, 1, 3, 3)), bias)) is None


def test_progress_goes_from_nothing_to_all() -> None:
    told: list[float] = []
    plan = parse_plan({**PLAN, "privacy": {"kind": "clip"}})
    audit(plan, scenario(), trials=10, samples=5, seed=1, report=lambda progress: told.append(progress.share))
    assert told == sorted(told)
    assert told[-1] == 1


def test_plans_whose_updates_need_a_teacher_are_refused() -> None:
    plan = parse_plan({**PLAN, "local": {"kind": "distill"}})
    with pytest.raises(DoesNotFit):
        audit(plan, scenario(), trials=10, samples=5, seed=1, report=unreported)


def test_the_command_prints_and_writes_what_was_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plan, setting, out = tmp_path / "plan.toml", tmp_path / "small.toml", tmp_path / "found.json"
    plan.write_text(
        '[local]\nkind = "sgd"\n[codec]\nkind = "float32"\n[privacy]\nkind = "central_noise"\n'
        '[merge]\nkind = "fed_avg"\nweight_by = "uniform"\n'
        f'[pace]\nkind = "sync"\ntarget_updates = {COHORT}\nmin_updates = 3\nover_selection = 1\n'
    )
    setting.write_text(
        'title = "Small"\ndevices = 4\nwindow = 3\n[stream]\nkind = "digits"\nbatches = 2\nbatch_size = 30\n'
        'batch_s = 60\nprofiles = [{ classes = [0, 1] }]\n[learner]\nkind = "neural"\nhidden = 4\nbatch_size = 10\n'
    )
    call_command("audit_privacy", str(plan), scenario=str(setting), trials=10, samples=5, json=out)
    audited = msgspec.json.decode(out.read_bytes(), type=Audit)
    assert [one.attack for one in audited.found] == ["membership"] * 2 + ["inversion"] * 2
    shown = capsys.readouterr().out
    assert "with central_noise" in shown
    assert "The plan's guarantee leaves 0.38 at most" in shown
    call_command("audit_privacy", str(plan), scenario=str(setting), trials=10, samples=5, json=Path("-"))
    assert msgspec.json.decode(capsys.readouterr().out, type=Audit) == audited, "and nothing else"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"trials": 1}, "--trials"),
        ({"samples": 0}, "--samples"),
        ({"pair": Path("m.pt2")}, "go together"),
        ({"plan": "isolated"}, "holds none"),
        ({"plan": "centralised"}, "baseline"),
        ({"plan": "none such"}, "neither a file nor a preset"),
    ],
)
def test_the_command_refuses_with_a_sentence(changed: dict[str, object], says: str) -> None:
    arguments = {"plan": "fedavg", **changed}
    with pytest.raises(CommandError, match=says):
        call_command("audit_privacy", arguments.pop("plan"), **arguments)
