"""Every kind of slot `forgetting`: a plan is refused where its promise could not be kept."""

import pytest

from coterie_learning.forgetting import Forgetting
from coterie_learning.forgetting.replay import Replay
from coterie_learning.local import Local
from coterie_learning.plan import FORGETTING, LOCAL, parse_plan, presets
from coterie_wire.errors import WireError

every_kind = pytest.mark.parametrize("kind", FORGETTING.kinds.values(), ids=list(FORGETTING.kinds))
EXACT = {"codec": {"kind": "float32"}}
MASKED = {
    **EXACT,
    "merge": {"kind": "fed_avg", "weight_by": "uniform"},
    "pace": {"kind": "sync", "min_updates": 10, "target_updates": 10},
    "privacy": {"kind": "secure_aggregation"},
}
REFUSES_BOTH = {
    "help": {"help": {"kind": "cartel"}},
    "gossip": {"topology": {"kind": "gossip"}, "merge": {"kind": "fed_avg"}},
    "models": {"merge": {"kind": "distill"}},
    "canary": {"rollout": {"kind": "canary"}},
}
REFUSES_REPLAY = {
    "masked": MASKED,
    "noise on sums": {"privacy": {"kind": "central_noise"}, "merge": {"kind": "fed_avg", "weight_by": "uniform"}},
    "supernodes": {"topology": {"kind": "supernodes"}},
    "asynchronous": {"pace": {"kind": "buffered"}},
    "root": {"merge": {"kind": "trusted_root"}},
}
REFUSES_RESTART = {
    "scaffold": {"local": {"kind": "scaffold"}, "merge": {"kind": "scaffold"}},
    "fed_dyn": {"local": {"kind": "fed_dyn"}, "merge": {"kind": "fed_dyn"}},
    "multitask": {"local": {"kind": "multitask"}, "merge": {"kind": "multitask"}},
    "layers": {"local": {"kind": "shared_body"}},
    "own model": {"personal": {"kind": "ditto"}},
    "lossy": {"codec": {"kind": "int8"}},
}


@every_kind
def test_only_what_rebuilds_keeps_updates(kind: type[Forgetting]) -> None:
    assert kind.rebuilds or kind().kept_days() is None


def test_a_plan_that_says_nothing_promises_nothing() -> None:
    assert not parse_plan({}).forgetting.rebuilds
    assert not any(plan.forgetting.rebuilds for plan in presets().values())


@pytest.mark.parametrize("privacy", ["none", "clip", "local_noise"])
def test_single_updates_can_be_merged_again(privacy: str) -> None:
    plan = parse_plan({"privacy": {"kind": privacy}, "forgetting": {"kind": "replay", "days": 7}})
    assert plan.forgetting == Replay(days=7)


def _refused(plan: dict[str, object], forgetting: str) -> str:
    parse_plan(plan)
    with pytest.raises(WireError) as caught:
        parse_plan({**plan, "forgetting": {"kind": forgetting}})
    assert caught.value.detail.startswith(f"slot forgetting, kind {forgetting}: ")
    return caught.value.detail


@pytest.mark.parametrize("kind", ["replay", "restart"])
@pytest.mark.parametrize("plan", REFUSES_BOTH.values(), ids=list(REFUSES_BOTH))
def test_what_goes_further_than_one_lineage_is_refused(plan: dict[str, object], kind: str) -> None:
    assert _refused({**EXACT, **plan}, kind).endswith("; choose forgetting none")


@pytest.mark.parametrize("plan", REFUSES_REPLAY.values(), ids=list(REFUSES_REPLAY))
def test_what_cannot_be_merged_again_can_begin_again(plan: dict[str, object]) -> None:
    assert _refused(plan, "replay").endswith("; choose forgetting restart or none")
    parse_plan({**plan, **EXACT, "forgetting": {"kind": "restart"}})


@pytest.mark.parametrize("plan", REFUSES_RESTART.values(), ids=list(REFUSES_RESTART))
def test_what_devices_remember_can_be_merged_again(plan: dict[str, object]) -> None:
    assert "would bring it back" in _refused({**EXACT, **plan}, "restart")
    parse_plan({**EXACT, **plan, "forgetting": {"kind": "replay"}})


def test_kinds_that_keep_a_state_say_so() -> None:
    for name, kind in LOCAL.kinds.items():
        keeps = kind.remember is not Local.remember or (kind.half_of is not None and "begin" in vars(kind))
        assert kind.remembers == (keeps and name != "fed_nova"), name
