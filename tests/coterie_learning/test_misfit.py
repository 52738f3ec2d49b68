"""Every kind says itself what it cannot work with."""

import re
from collections.abc import Mapping
from itertools import product

import msgspec
import pytest

from coterie_learning.kinds import Kind, Resources
from coterie_learning.plan import SLOTS, parse_plan, presets, read_plan
from coterie_wire.bundle import Head, ModelSpec, TensorSpec
from coterie_wire.errors import WireError

CODE = re.compile(r"[a-z]+\.[a-z_]+")
EVERYTHING = Resources(cloud_data=True, teacher_problem=None)
NOTHING = Resources(cloud_data=False, teacher_problem="it was not compiled")
KINDS = [pytest.param(slot, kind, id=f"{slot}-{name}") for slot in SLOTS for name, kind in SLOTS[slot].kinds.items()]


def classifier(*, head: bool = True, scalars: tuple[str, ...] = ("momentum", "distillation_weight")) -> ModelSpec:
    """Two classes from two numbers, by way of two hidden units."""
    spec = ModelSpec.of_classifier(
        inputs=(TensorSpec("x", "float32", (2,)),),
        classes=2,
        batch_size=4,
        parameters=(
            TensorSpec("body.bias", "float32", (2,)),
            TensorSpec("body.weight", "float32", (2, 2)),
            TensorSpec("head.bias", "float32", (2,)),
            TensorSpec("head.weight", "float32", (2, 2)),
        ),
        head=Head("head.weight", "head.bias") if head else None,
    )
    return msgspec.structs.replace(spec, scalars=("learning_rate", "proximal_weight", *scalars))


def solved() -> ModelSpec:
    """A model of parts that are solved for by tables of sums, not descended."""
    names = {
        "trees": ("feature", "threshold", "value", "base", "edges", "place", "gradients", "curvatures"),
        "line": ("weight", "bias", "gradients", "curvatures"),
    }
    parameters = tuple(TensorSpec(f"{of}.{name}", "float32", (2,)) for of in names for name in names[of])
    return msgspec.structs.replace(classifier(head=False), parameters=parameters, optimiser_state=())


@pytest.mark.parametrize(("slot", "kind"), KINDS)
def test_a_misfit_is_none_or_a_reason(slot: str, kind: type[Kind]) -> None:
    plan = read_plan({slot: {"kind": kind.__struct_config__.tag}})
    models = (None, classifier(), classifier(head=False, scalars=()), solved())
    for model, resources in product(models, (None, EVERYTHING, NOTHING)):
        found = plan.kind_in(slot).misfit(plan, model, resources)
        if found is not None:
            assert CODE.fullmatch(found.code), (model, resources)
            assert found.sentence == found.sentence.strip().rstrip("."), (model, resources)


@pytest.mark.parametrize(("slot", "kind"), KINDS)
def test_every_kind_works_in_some_plan(slot: str, kind: type[Kind]) -> None:
    choice = {slot: {"kind": kind.__struct_config__.tag}}
    if kind.half_of is not None:
        halves = {half: SLOTS[half].kinds.values() for half in ("local", "merge")}
        choice = {
            half: {"kind": other.__struct_config__.tag}
            for half, others in halves.items()
            for other in others
            if other.half_of == kind.half_of
        } | choice
    others: list[Mapping[str, object]] = [
        {},
        {"pace": {"kind": "sync", "min_updates": 5}},
        {"merge": {"kind": "distill"}, "local": {"kind": "distill"}},
        {"merge": {"kind": "fed_avg", "weight_by": "uniform"}},
        {
            "merge": {"kind": "fed_avg", "weight_by": "uniform"},
            "codec": {"kind": "float32"},
            "pace": {"kind": "sync", "min_updates": 10},
        },
    ]
    plans = [read_plan({**other, **choice}) for other in others]
    assert [] in [list(plan.misfits(model, EVERYTHING)) for plan in plans for model in (classifier(), solved())]


def test_a_model_that_is_solved_is_refused_where_devices_descend() -> None:
    (misfit,) = read_plan({}).misfits(solved(), EVERYTHING)
    assert (misfit.slot, misfit.reason.code) == ("local", "plan.only_solved")
    solving = read_plan({"local": {"kind": "second_order"}, "merge": {"kind": "newton"}})
    assert [reason.code for _, reason in solving.misfits(classifier(), EVERYTHING)] == ["plan.needs_tables"] * 2
    large = msgspec.structs.replace(
        solved(), parameters=(*solved().parameters, TensorSpec("large", "float32", (2**20,)))
    )
    assert [reason.code for _, reason in solving.misfits(large, EVERYTHING)] == ["plan.too_large"]
    steps = msgspec.structs.replace(solved(), optimiser_state=(TensorSpec("velocity.weight", "float32", (3, 2)),))
    (misfit,) = solving.misfits(steps, EVERYTHING)
    assert (misfit.slot, misfit.reason.code) == ("local", "plan.takes_steps")


@pytest.mark.parametrize("kinds", [{"local": {"kind": "scaffold"}}, {"merge": {"kind": "scaffold"}}])
def test_half_an_algorithm_is_refused(kinds: Mapping[str, object]) -> None:
    with pytest.raises(WireError, match="SCAFFOLD is a kind of local and a kind of merge"):
        parse_plan(kinds)


@pytest.mark.parametrize("algorithm", ["scaffold", "fed_dyn"])
def test_what_both_sides_remember_takes_no_stale_updates(algorithm: str) -> None:
    halves = {"local": {"kind": algorithm}, "merge": {"kind": algorithm}}
    with pytest.raises(WireError, match="take pace sync"):
        parse_plan({**halves, "pace": {"kind": "buffered"}})
    parse_plan(halves)
    parse_plan({"local": {"kind": "fed_nova"}, "merge": {"kind": "fed_nova"}, "pace": {"kind": "buffered"}})


@pytest.mark.parametrize("name", presets())
def test_presets_fit_a_classifier_with_everything(name: str) -> None:
    """Or, where devices only sum, a model that is solved, and then no other."""
    plan = presets()[name]
    fitting, other = (classifier(), solved()) if plan.local.trains else (solved(), classifier())
    assert list(plan.misfits(fitting, EVERYTHING)) == []
    assert plan.local.trains or {misfit.reason.code for misfit in plan.misfits(other, EVERYTHING)} == {
        "plan.needs_tables"
    }


@pytest.mark.parametrize(
    ("raw", "model", "resources", "slot", "code"),
    [
        ({"local": {"kind": "sgd", "momentum": 0.9}}, classifier(scalars=()), None, "local", "plan.does_not_fit"),
        ({"local": {"kind": "distill"}}, classifier(), NOTHING, "local", "plan.needs_teacher"),
        ({"local": {"kind": "distill"}}, classifier(head=False), EVERYTHING, "local", "plan.no_head"),
        ({"merge": {"kind": "distill"}}, classifier(), NOTHING, "merge", "plan.needs_cloud_data"),
        ({"help": {"kind": "cartel"}}, classifier(head=False), EVERYTHING, "help", "portion.unsupported"),
        (
            {"help": {"kind": "cartel", "portion": "learner"}},
            classifier(),
            EVERYTHING,
            "help",
            "plan.needs_unlike_models",
        ),
        ({"groups": {"kind": "affinity"}}, None, None, "groups", "plan.needs_outputs"),
        ({"codec": {"kind": "top_k"}, "merge": {"kind": "median"}}, None, None, "codec", "plan.too_coarse"),
        ({"codec": {"kind": "one_bit"}, "merge": {"kind": "distill"}}, None, None, "codec", "plan.too_coarse"),
        ({"codec": {"kind": "sparse_levels"}, "help": {"kind": "cartel"}}, None, None, "codec", "plan.too_coarse"),
        (
            {"rollout": {"kind": "canary"}, "merge": {"kind": "distill"}},
            None,
            None,
            "rollout",
            "plan.needs_single_versions",
        ),
    ],
)
def test_what_a_kind_cannot_work_with(
    raw: Mapping[str, object], model: ModelSpec | None, resources: Resources | None, slot: str, code: str
) -> None:
    assert [(found.slot, found.reason.code) for found in read_plan(raw).misfits(model, resources)] == [(slot, code)]


def test_a_whole_model_may_be_sent_where_models_differ() -> None:
    plan = read_plan({"help": {"kind": "cartel", "portion": "learner"}})
    assert list(plan.misfits(classifier(), EVERYTHING._replace(one_model=False))) == []


def test_a_plan_whose_kinds_do_not_work_with_one_another_is_refused() -> None:
    with pytest.raises(WireError, match="slot groups, kind affinity: ") as caught:
        parse_plan({"groups": {"kind": "affinity"}})
    assert caught.value.code == "plan.invalid"
