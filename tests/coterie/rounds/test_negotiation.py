"""Who lacks a kind of the plan is not asked and told why; and devices of 0.1 work with this platform."""

import json
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from coterie.federations.models import Federation
from coterie.federations.services import finish_federation
from coterie.fleet.models import Device
from coterie.rounds.directives import check_in, why_not_training
from coterie.rounds.models import Assignment, Round
from coterie_learning.kind_names import own_kinds
from coterie_wire.conditions import Conditions
from coterie_wire.messages import Capabilities, CheckIn, DataMetadata, Directive, decode
from coterie_wire.version import PROTOCOL
from tests.contract.golden import GOLDEN, RELEASES
from tests.coterie.world import fleet_of, later, make_device, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
FLOAT32 = {"codec": {"kind": "float32"}}


def capabilities(*, agent: str = "0.2.0", **lacks: str) -> Capabilities:
    """Of a device that has all kinds but those of `lacks`, one a slot; none are told where the agent is of 0.1."""
    kinds = {slot: tuple(name for name in names if name != lacks.get(slot)) for slot, names in own_kinds().items()}
    return Capabilities(4, 2**30, "aarch64 Linux", agent, kinds={} if agent.startswith("0.1") else kinds)


def say(device: Device, told: Capabilities | None, seconds: float) -> Directive:
    """One check-in."""
    device.refresh_from_db()
    message = CheckIn(PROTOCOL, Conditions(), capabilities=told)
    return check_in(device=device, message=message, now=later(seconds))


def start(*, plan: Mapping[str, object] = FLOAT32, devices: int = 1) -> Federation:
    """A federation whose first round opens when so many devices are there."""
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, target_updates=devices, min_updates=devices, plan=plan)


def test_who_lacks_a_kind_of_the_plan_is_not_asked_and_told_why() -> None:
    start()
    able, unable = make_device("able"), make_device("unable")
    told = say(unable, capabilities(codec="float32"), 0)
    assert told.wait is not None
    assert (told.wait.code, told.wait.sentence) == ("rounds.lacks_kinds", "needs agent 0.1 for codec float32")
    assert why_not_training(unable, now=later(0)) == (told.wait,)
    say(able, capabilities(), 1)
    (device,) = fleet_of(1)
    device.check_in(later(2))  # and the sweep comes by
    assert Round.objects.get().state == Round.State.OPEN
    assert say(unable, capabilities(codec="float32"), 3).assignment is None
    assert unable.pk not in Assignment.objects.values_list("device", flat=True)


def test_an_open_round_gives_no_place_to_who_lacks_a_kind() -> None:
    start(devices=1)
    (device,) = fleet_of(1)
    assert device.check_in(later(0)).assignment is not None
    assert Round.objects.get().places, "over-selection wants one more"
    assert say(make_device("unable"), capabilities(codec="float32"), 1).assignment is None
    assert say(make_device("able"), capabilities(), 2).assignment is not None


def test_a_round_that_waits_counts_who_lacks_a_kind() -> None:
    start(devices=2)
    say(make_device("unable"), capabilities(codec="float32"), 0)
    (device,) = fleet_of(1)
    wait = device.check_in(later(1)).wait
    assert wait is not None
    assert wait.sentence == "needs 2 devices, 1 eligible: 1 without a kind of the plan"


def test_what_holds_between_rounds_is_not_told_to_who_cannot_do_it() -> None:
    start(plan={"pace": {"kind": "alone"}, "help": {"kind": "cartel", "portion": "head"}})
    assert not say(make_device("unable"), capabilities(help="cartel"), 0).stands
    assert say(make_device("able"), capabilities(), 1).stands


def test_a_detector_inside_the_plans_help_is_asked_for_too() -> None:
    help_ = {"kind": "cartel", "portion": "head", "detector": {"kind": "adwin"}}
    start(plan={"help": help_})
    unable, able = make_device("unable"), make_device("able")
    told = say(unable, capabilities(drift="adwin"), 0)
    assert told.wait is not None
    assert (told.wait.code, told.wait.sentence) == ("rounds.lacks_kinds", "needs agent 0.1 for drift adwin")
    assert not told.stands
    assert say(able, capabilities(), 1).stands


def test_operators_see_that_a_device_has_less_than_a_batch_to_train_on_between_rounds() -> None:
    start(plan={"pace": {"kind": "alone"}})
    size = Federation.objects.get().pair.model_spec().batch_size
    for samples, waits in ((size - 1, True), (size, False)):
        device = make_device(f"kiosk-{samples}")
        message = CheckIn(PROTOCOL, Conditions(), capabilities=capabilities(), metadata=DataMetadata(samples=samples))
        check_in(device=device, message=message, now=later(0))
        codes = [reason.code for reason in why_not_training(device, now=later(1))]
        assert ("data.less_than_a_batch" in codes) is waits


def test_a_device_that_learns_a_kind_is_asked() -> None:
    start()
    device = make_device("kiosk")
    assert say(device, capabilities(codec="float32"), 0).assignment is None
    say(device, capabilities(), 1)
    (other,) = fleet_of(1)
    other.check_in(later(2))
    device.refresh_from_db()
    assert device.lacks == ""
    assert say(device, None, 3).assignment is not None


def test_kinds_are_remembered_while_a_device_that_starts_has_not_told_them_again() -> None:
    start()
    device, told = make_device("kiosk"), capabilities(codec="float32")
    say(device, told, 0)
    say(device, msgspec.structs.replace(told, kinds={}), 1)
    assert "codec:float32" in device.lacks
    say(device, msgspec.structs.replace(told, kinds={}, agent="0.3.0"), 2)
    assert "codec:float32" not in device.lacks, "another agent has other kinds"


def test_an_agent_of_0_1_is_asked_and_told_nothing_that_it_does_not_know() -> None:
    release = GOLDEN / "0.1"
    start(plan={"help": {"kind": "cartel", "portion": "head"}})
    device = make_device("old")
    said = decode(CheckIn, (release / "CheckIn.json").read_bytes())
    said = msgspec.structs.replace(said, blockers=(), progress=None, help=None)
    for seconds in (0, 1):
        device.refresh_from_db()
        directive = check_in(device=device, message=said, now=later(seconds))
        assert complaints(release, directive) == []
        (other,) = fleet_of(1) if not seconds else (None,)
        if other is not None:
            other.check_in(later(0.5))
    assert directive.assignment is not None
    assert not directive.ignores_unknown


def test_a_later_agent_is_told_that_it_may_say_more() -> None:
    start()
    assert say(make_device("new"), capabilities(), 0).ignores_unknown
    assert not say(make_device("old"), capabilities(agent="0.1.3"), 0).ignores_unknown


@pytest.mark.parametrize("privacy", ["none", "secure_aggregation", "distributed_noise"])
def test_a_device_is_told_before_its_first_round_that_a_plan_hides_what_it_measures(privacy: str) -> None:
    start(
        plan={**FLOAT32, "privacy": {"kind": privacy}, "merge": {"kind": "fed_avg", "weight_by": "uniform"}}, devices=10
    )
    assert say(make_device("new"), capabilities(), 0).hides is (privacy != "none")
    assert not say(make_device("old"), capabilities(agent="0.1.3"), 0).hides, "which would not read it"


def test_a_device_is_told_which_federations_go_on_with_it() -> None:
    federation = start()
    device = make_device("new")
    assert say(device, capabilities(), 0).federations == (federation.slug,)
    assert say(make_device("old"), capabilities(agent="0.1.3"), 0).federations is None, "which would not read it"
    finish_federation(federation=federation, now=later(1))
    assert say(device, capabilities(), 2).federations == ()


def complaints(release: Path, directive: Directive) -> list[str]:
    """Why an agent of `release` would not have read `directive`."""
    assert release in RELEASES
    schema = json.loads((release / "schema.json").read_text(encoding="utf-8"))
    validator = Draft202012Validator({"$defs": schema["$defs"], "$ref": "#/$defs/Directive"})
    document = json.loads(msgspec.json.encode(directive))
    found = [error.message for error in validator.iter_errors(document)]
    for plan in (document.get("assignment", {}).get("plan"), document.get("standing", {}).get("plan")):
        for slot, choice in (plan or {}).items():
            if slot in schema["slots"]:
                kind = Draft202012Validator({"$defs": schema["$defs"], **schema["slots"][slot][choice["kind"]]})
                found += [error.message for error in kind.iter_errors(choice)]
    return found
