import msgspec
import pytest

from coterie_learning.device_plan import parse_device_plan
from coterie_learning.local.prox import Prox
from coterie_learning.plan import SLOTS, parse_plan, plan_document, plan_schema, presets
from coterie_wire.errors import WireError


def test_a_plan_survives_being_written_and_read() -> None:
    plan = parse_plan({"local": {"kind": "prox", "mu": 0.5}, "pace": {"kind": "sync", "target_updates": 4}})
    assert parse_plan(plan_document(plan)) == plan
    assert plan.local == Prox(mu=0.5)


def test_a_written_plan_says_everything() -> None:
    document = plan_document(parse_plan({}))
    assert document["merge"] == {"kind": "fed_avg", "weight_by": "samples", "learning_rate": 1.0}


@pytest.mark.parametrize(
    ("pace", "help_", "local_training_every_s", "spares_newest"),
    [
        ("sync", "none", None, False),
        ("sync", "cartel", 0.0, True),
        ("alone", "none", 60.0, False),
        ("alone", "cartel", 60.0, False),
    ],
)
def test_where_devices_help_each_other_they_learn_between_rounds_too(
    pace: str, help_: str, local_training_every_s: float | None, spares_newest: bool
) -> None:
    settings = {"period_s": 60.0} if pace == "alone" else {}
    device = parse_plan({"pace": {"kind": pace, **settings}, "help": {"kind": help_}}).device
    assert (device.local_training_every_s, device.spares_newest) == (local_training_every_s, spares_newest)


def test_a_device_reads_its_part() -> None:
    plan = parse_plan({})
    assert parse_device_plan(msgspec.json.encode(plan.device)) == plan.device


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        ("fedavg", "plan.invalid"),
        ({"colour": {"kind": "red"}}, "plan.invalid"),
        ({"requirements": {"charging": "maybe"}}, "plan.invalid"),
        ({"pace": {"kind": "async"}}, "plan.unknown_kind"),
        ({"pace": "sync"}, "plan.unknown_kind"),
        ({"pace": {"kind": "sync", "target_updates": 0}}, "plan.invalid"),
        ({"pace": {"kind": "sync", "target": 3}}, "plan.invalid"),
        ({"pace": {"kind": "sync", "target_updates": 2, "min_updates": 3}}, "plan.invalid"),
        ({"merge": {"kind": "fed_avg", "weight_by": "age"}}, "plan.invalid"),
        ({"local": {"kind": "sgd", "learning_rate": float("nan")}}, "plan.invalid"),
        ({"rollout": {"kind": "canary", "share": 0}}, "plan.invalid"),
        ({"rollout": {"kind": "canary"}, "merge": {"kind": "distill"}}, "plan.invalid"),
    ],
)
def test_what_does_not_fit_is_refused(raw: object, code: str) -> None:
    with pytest.raises(WireError) as caught:
        parse_plan(raw)
    assert caught.value.code == code


def test_the_schema_names_every_slot_and_kind() -> None:
    schema = plan_schema()
    assert sorted(schema) == [
        "codec",
        "down",
        "fallback",
        "forgetting",
        "groups",
        "help",
        "local",
        "merge",
        "pace",
        "personal",
        "privacy",
        "requirements",
        "rollout",
        "selection",
        "topology",
    ]
    assert all(schema[slot].keys() == registry.kinds.keys() for slot, registry in SLOTS.items())


def test_presets_differ_in_what_their_papers_differ_in() -> None:
    fedavg, fedprox = (plan_document(presets()[name]) for name in ("fedavg", "fedprox"))
    assert {slot for slot in fedavg if fedavg[slot] != fedprox[slot]} == {"local"}
