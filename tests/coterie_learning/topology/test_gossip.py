import msgspec
import pytest

from coterie_learning.plan import Document, parse_plan, read_plan
from coterie_learning.topology.gossip import Gossip
from coterie_wire.bundle import ModelSpec, RunningMoments, TensorSpec
from coterie_wire.errors import WireError

MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (4,)),),
    classes=5,
    batch_size=2,
    parameters=(TensorSpec("body", "float32", (300, 40)),),
)
GOSSIP = {"topology": {"kind": "gossip"}}


@pytest.mark.parametrize(
    ("others", "code"),
    [
        ({"merge": {"kind": "trimmed_mean"}}, "reads columns of single updates"),
        ({"merge": {"kind": "geometric_median"}}, "meetings have mixed"),
        ({"pace": {"kind": "buffered"}}, "different versions"),
        ({"pace": {"kind": "sync", "target_updates": 257}}, "at most 256 devices"),
        ({"privacy": {"kind": "clip"}}, "peers read each other's models"),
        ({"privacy": {"kind": "local_noise"}}, "peers read each other's models"),
        (
            {
                "privacy": {"kind": "secure_aggregation", "full_samples": 9},
                "codec": {"kind": "float32"},
                "pace": {"kind": "sync", "min_updates": 10, "target_updates": 10},
            },
            "peers read each other's models",
        ),
        ({"codec": {"kind": "top_k"}}, "says too little"),
        ({"codec": {"kind": "one_bit"}}, "says too little"),
        ({"local": {"kind": "fed_nova"}, "merge": {"kind": "fed_nova"}}, "remembers or sends more"),
        ({"local": {"kind": "scaffold"}, "merge": {"kind": "scaffold"}}, "remembers or sends more"),
        ({"local": {"kind": "shared_body"}}, "the whole of one model"),
        ({"help": {"kind": "cartel"}}, "parts of others' models"),
    ],
)
def test_what_meetings_would_break_is_refused(others: Document, code: str) -> None:
    with pytest.raises(WireError, match=code):
        parse_plan({**GOSSIP, **others})


@pytest.mark.parametrize(
    "others",
    [
        {"codec": {"kind": "float32"}},
        {"codec": {"kind": "int4"}},
        {"local": {"kind": "prox", "mu": 0.1}},
        {"merge": {"kind": "fed_adam"}},
        {"personal": {"kind": "fine_tuned"}},
        {"personal": {"kind": "ditto"}},
    ],
)
def test_what_goes_with_meetings(others: Document) -> None:
    assert parse_plan({**GOSSIP, **others}).topology == Gossip()


def test_running_statistics_and_models_that_are_too_large_are_refused() -> None:
    plan = read_plan(GOSSIP)
    pair = RunningMoments(TensorSpec("m", "float32", (3,)), TensorSpec("v", "float32", (3,)))
    with_statistics = Gossip().misfit(plan, msgspec.structs.replace(MODEL, statistics=(pair,)), None)
    assert with_statistics is not None
    assert "running statistics" in with_statistics.sentence
    large = msgspec.structs.replace(MODEL, parameters=(TensorSpec("body", "float32", (60 << 10, 1 << 10)),))
    too_large = Gossip().misfit(plan, large, None)
    assert too_large is not None
    assert too_large.code == "plan.too_large"
    assert Gossip().misfit(plan, MODEL, None) is None


def test_its_rules_are_its_hyperparameters() -> None:
    rules = Gossip(meetings=7, settling=2, group=3, wait_s=5).meeting_rules()
    assert (rules.in_all, rules.group, rules.wait_s) == (9, 3, 5)
