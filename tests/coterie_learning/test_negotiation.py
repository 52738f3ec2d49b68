"""What a device has, and what a plan asks of it."""

import msgspec
import pytest

from coterie_learning.custom_kinds import DEVICE_SLOTS, PLATFORM_SLOTS
from coterie_learning.detectors import DRIFT
from coterie_learning.device_plan import CODEC, HELP, LOCAL, PERSONAL, PRIVACY
from coterie_learning.kind_names import NESTED_SLOTS, own_kinds
from coterie_learning.kinds import FIRST_RELEASE, Kind, Registry
from coterie_learning.negotiation import NeededKind, kinds_lacked, needed_kinds
from coterie_learning.plan import SLOTS, parse_plan
from coterie_wire.messages import Capabilities, decode


@pytest.mark.parametrize("registry", [*SLOTS.values(), DRIFT], ids=lambda registry: registry.slot)
def test_a_kind_has_the_name_of_its_module_in_the_package_of_its_slot(registry: Registry[Kind]) -> None:
    for name, kind in registry.kinds.items():
        assert kind.__module__.split(".")[-2:] == [registry.slot, name]


def test_what_a_device_has_is_found_without_loading_it() -> None:
    registries = (LOCAL, CODEC, PRIVACY, PERSONAL, HELP, DRIFT)
    assert own_kinds() == {registry.slot: tuple(sorted(registry.kinds)) for registry in registries}
    assert tuple(own_kinds()) == DEVICE_SLOTS + NESTED_SLOTS
    assert {*DEVICE_SLOTS, *PLATFORM_SLOTS} == set(SLOTS)


def test_what_a_device_has_can_be_told() -> None:
    told = Capabilities(cores=1, memory_bytes=1, machine="", agent="0.2.0", kinds=own_kinds())
    assert decode(Capabilities, msgspec.json.encode(told)) == told


def test_this_source_lacks_nothing() -> None:
    assert kinds_lacked(own_kinds()) == []


def test_who_tells_none_has_those_of_the_first_release() -> None:
    every = {name for registry in (LOCAL, CODEC, PRIVACY, PERSONAL, HELP) for name in registry.kinds}
    lacked = kinds_lacked({})
    assert all(kind.since != FIRST_RELEASE for kind in lacked)
    assert {"sgd", "int8", "clip", "cartel"} <= every - {kind.name for kind in lacked}


def test_what_is_lacking_is_told_with_the_release_that_has_it() -> None:
    told = {**own_kinds(), "codec": tuple(name for name in own_kinds()["codec"] if name != "float32")}
    assert kinds_lacked(told) == [NeededKind("codec", "float32", "0.1")]
    without_slot = {slot: names for slot, names in own_kinds().items() if slot != "help"}
    assert {kind.slot for kind in kinds_lacked(without_slot)} == {"help"}


def test_a_plan_needs_one_kind_for_each_slot() -> None:
    plan = parse_plan({"local": {"kind": "prox"}, "codec": {"kind": "float32"}}).device
    assert {kind.slot: kind.name for kind in needed_kinds(plan)} == {
        "local": "prox",
        "codec": "float32",
        "privacy": "none",
        "personal": "none",
        "help": "none",
    }


def test_a_plan_needs_the_kinds_inside_its_kinds() -> None:
    plan = parse_plan({"help": {"kind": "cartel", "detector": {"kind": "adwin"}}}).device
    assert NeededKind("drift", "adwin", "0.1") in needed_kinds(plan)
    without = {**own_kinds(), "drift": ("window",)}
    assert NeededKind("drift", "adwin", "0.1") in kinds_lacked(without)


def test_who_tells_no_detectors_has_those_of_the_first_release() -> None:
    told = {slot: names for slot, names in own_kinds().items() if slot not in NESTED_SLOTS}
    assert all(kind.slot in NESTED_SLOTS and kind.since != FIRST_RELEASE for kind in kinds_lacked(told))
