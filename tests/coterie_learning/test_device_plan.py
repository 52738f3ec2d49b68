"""Plans: registries find the kinds, and refuse what is unknown or out of range."""

from pathlib import Path

import msgspec
import pytest

import coterie_learning.help
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.device_plan import CODEC, HELP, LOCAL, PERSONAL, PRIVACY, DevicePlan, parse_device_plan
from coterie_learning.drift.page_hinkley import PageHinkley
from coterie_learning.help.cartel import Cartel
from coterie_learning.help.none import NoHelp
from coterie_learning.kinds import Kind, Registry
from coterie_learning.local.prox import Prox
from coterie_learning.privacy.clip import Clip
from coterie_learning.privacy.none import NoPrivacy
from coterie_wire.conditions import Requirements
from coterie_wire.errors import WireError
from tests.contract.samples import DEVICE_PLAN

REGISTRIES: tuple[Registry[Kind], ...] = (LOCAL, CODEC, PRIVACY, PERSONAL, HELP)
every_registry = pytest.mark.parametrize("registry", REGISTRIES, ids=lambda registry: registry.slot)


@every_registry
def test_a_registry_finds_every_module_of_its_slot(registry: Registry[Kind]) -> None:
    package = Path(coterie_learning.help.__file__).parents[1] / registry.slot
    assert registry.kinds.keys() == {path.stem for path in package.glob("[!_]*.py")}


@every_registry
def test_every_kind_has_defaults_a_description_of_each_field_and_a_schema(registry: Registry[Kind]) -> None:
    for name, kind in registry.kinds.items():
        assert registry.parse({"kind": name}).name == name
        assert registry.parse(msgspec.to_builtins(kind())) == kind()
        for field in msgspec.structs.fields(kind):
            assert msgspec.json.schema(field.type)["description"], f"{name}.{field.name}"
    assert registry.schema().keys() == registry.kinds.keys()


def test_every_requirement_has_a_description() -> None:
    for field in msgspec.structs.fields(Requirements):
        assert msgspec.json.schema(field.type)["description"], field.name


@every_registry
@pytest.mark.parametrize("raw", [None, [], "sgd", {}, {"kind": None}, {"kind": "unheard of"}, {"kind": ["sgd"]}])
def test_an_unknown_kind_is_refused(registry: Registry[Kind], raw: object) -> None:
    with pytest.raises(WireError) as caught:
        registry.parse(raw)
    assert caught.value.code == "plan.unknown_kind"


@pytest.mark.parametrize(
    ("registry", "raw"),
    [
        (LOCAL, {"kind": "sgd", "mu": 1.0}),
        (LOCAL, {"kind": "sgd", "epochs": 0}),
        (LOCAL, {"kind": "sgd", "epochs": "many"}),
        (LOCAL, {"kind": "sgd", "learning_rate": float("nan")}),
        (LOCAL, {"kind": "sgd", "learning_rate": float("inf")}),
        (LOCAL, {"kind": "prox", "momentum": 1.0}),
        (CODEC, {"kind": "int8", "granularity": "row"}),
        (PRIVACY, {"kind": "clip", "norm": 0}),
        (HELP, {"kind": "cartel", "troubled_recall": 1.5}),
        (HELP, {"kind": "cartel", "detector": {"kind": "unheard of"}}),
        (HELP, {"kind": "cartel", "detector": {"kind": "window", "limit": -1}}),
        (HELP, {"kind": "cartel", "recent_batches": 3, "window_batches": 2}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else None,
)
def test_hyperparameters_out_of_range_are_refused(registry: Registry[Kind], raw: object) -> None:
    with pytest.raises(WireError) as caught:
        registry.parse(raw)
    assert caught.value.code == "plan.invalid"


def test_a_device_plan_is_parsed() -> None:
    assert parse_device_plan(DEVICE_PLAN) == DevicePlan(
        local=Prox(epochs=2, learning_rate=0.1, momentum=0.9, mu=0.01),
        codec=Int8(granularity="channel"),
        privacy=Clip(norm=10.0),
        requirements=Requirements(charging=True, unmetered=True, hours=(22, 6)),
        help=Cartel(detector=PageHinkley(slack=0.02), neighbours_tried=2),
    )


def test_a_device_plan_travels_as_it_is_parsed() -> None:
    plan = DevicePlan(
        local=Prox(),
        codec=Float32Codec(),
        privacy=NoPrivacy(),
        requirements=Requirements(),
        help=NoHelp(),
        local_training_every_s=60.0,
    )
    assert parse_device_plan(msgspec.json.encode(plan)) == plan


@pytest.mark.parametrize("raw", [b"", b"{}", b"[" * 100_000, b'{"local":"\xff"}', b'{"local":' + b"[" * 100_000])
def test_a_device_plan_of_another_shape_is_invalid(raw: bytes) -> None:
    with pytest.raises(WireError) as caught:
        parse_device_plan(raw)
    assert caught.value.code == "plan.invalid"
