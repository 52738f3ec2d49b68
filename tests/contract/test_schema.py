"""The published schema describes what really travels."""

import msgspec
import pytest
from jsonschema import Draft202012Validator

from coterie_learning.device_plan import CODEC, HELP, LOCAL, PRIVACY
from coterie_learning.schema import wire_schema
from coterie_wire.messages import EXCHANGES
from tests.contract.golden import GOLDEN
from tests.contract.samples import DEVICE_PLAN, MESSAGES, PLATFORM_FRAMES, PROBLEM, REQUEST

SCHEMA = msgspec.to_builtins(wire_schema())
STRUCTS = (*MESSAGES, *PLATFORM_FRAMES, REQUEST, PROBLEM)


def validator(reference: object) -> Draft202012Validator:
    return Draft202012Validator({"$defs": SCHEMA["$defs"]} | msgspec.convert(reference, dict[str, str]))


@pytest.mark.parametrize("name", [type(struct).__name__ for struct in STRUCTS])
def test_golden_messages_fit_the_schema(name: str) -> None:
    document = msgspec.json.decode((GOLDEN / f"{name}.json").read_bytes())
    validator({"$ref": f"#/$defs/{name}"}).validate(document)


def test_the_golden_manifest_fits_the_schema() -> None:
    validator({"$ref": "#/$defs/Manifest"}).validate(msgspec.json.decode((GOLDEN / "manifest.json").read_bytes()))


@pytest.mark.parametrize("name", EXCHANGES)
def test_requests_of_another_shape_do_not_fit(name: str) -> None:
    assert not validator(SCHEMA["exchanges"][name]["request"]).is_valid([])


@pytest.mark.parametrize("slot", [LOCAL.slot, CODEC.slot, PRIVACY.slot, HELP.slot])
def test_the_kind_in_a_plan_fits_its_schema(slot: str) -> None:
    choice = msgspec.json.decode(DEVICE_PLAN)[slot]
    validator(SCHEMA["slots"][slot][choice["kind"]]).validate(choice)
