"""Agents and platforms one release apart work together; golden/0.1 is what 0.1 wrote, and the schema it read by."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator

from coterie_agent.device import capabilities
from coterie_learning.device_plan import device_plan_json, parse_device_plan
from coterie_learning.kinds import FIRST_RELEASE, Kind
from coterie_learning.plan import SLOTS, parse_plan, presets
from coterie_learning.schema import wire_schema
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, Directive, Enrol, decode, decode_platform_frame
from coterie_wire.version import PROTOCOL
from tests.contract.golden import RELEASES
from tests.contract.samples import MESSAGES, PLATFORM_FRAMES, PROBLEM, REQUEST

Document = Mapping[str, object]
STRUCTS = (*MESSAGES, REQUEST, PROBLEM)
every_release = pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)


class OldSide:
    """What a release read: its schema, which refused fields that it did not know."""

    def __init__(self, release: Path) -> None:
        self.schema = json.loads((release / "schema.json").read_text(encoding="utf-8"))

    def complaints(self, reference: Document, said: bytes) -> list[str]:
        """Why it would not have read what is `said`; empty: it would."""
        validator = Draft202012Validator({"$defs": self.schema["$defs"], **reference})
        return [error.message for error in validator.iter_errors(json.loads(said))]

    def message_complaints(self, message: msgspec.Struct) -> list[str]:
        """Of a message of today."""
        return self.complaints({"$ref": f"#/$defs/{type(message).__name__}"}, msgspec.json.encode(message))

    def plan_complaints(self, plan: bytes) -> Iterator[str]:
        """Of a device's plan of today, slot by slot."""
        for slot, choice in json.loads(plan).items():
            if slot in self.schema["slots"]:
                reference = self.schema["slots"][slot][choice["kind"]]
                yield from self.complaints(reference, json.dumps(choice).encode())


def known_to(release: Path) -> Iterator[msgspec.Struct]:
    """The messages that it had: others are sent under plans alone that it does not know."""
    defined = OldSide(release).schema["$defs"]
    yield from (struct for struct in STRUCTS if type(struct).__name__ in defined)


@pytest.mark.parametrize(
    ("release", "struct"),
    [
        pytest.param(release, struct, id=f"{type(struct).__name__}-{release.name}")
        for release in RELEASES
        for struct in known_to(release)
    ],
)
def test_messages_of_a_release_are_read_and_written_as_it_did(release: Path, struct: msgspec.Struct) -> None:
    said = (release / f"{type(struct).__name__}.json").read_bytes()
    assert msgspec.json.encode(decode(type(struct), said)) == said


@every_release
@pytest.mark.parametrize("frame", PLATFORM_FRAMES, ids=lambda frame: type(frame).__name__)
def test_frames_of_a_release_are_read_and_written_as_it_did(release: Path, frame: msgspec.Struct) -> None:
    said = (release / f"{type(frame).__name__}.json").read_bytes()
    assert msgspec.json.encode(decode_platform_frame(said)) == said


@every_release
def test_a_platform_of_a_release_reads_what_an_agent_says_before_it_knows_more(release: Path) -> None:
    old = OldSide(release)
    assert old.message_complaints(Enrol(PROTOCOL, "coterie-once", "kitchen", capabilities())) == []
    assert old.message_complaints(CheckIn(PROTOCOL, Conditions(), capabilities=capabilities())) == []


def test_a_platform_of_0_1_is_never_told_what_it_refuses() -> None:
    (release,) = (path for path in RELEASES if path.name == FIRST_RELEASE)
    told = decode(Directive, (release / "Directive.json").read_bytes())
    assert not told.ignores_unknown
    more = msgspec.structs.replace(capabilities(), kinds={"local": ("sgd",)})
    (complaint,) = OldSide(release).message_complaints(Enrol(PROTOCOL, "coterie-once", "kitchen", more))
    assert "kinds" in complaint


@every_release
@pytest.mark.parametrize("name", presets())
def test_an_agent_of_a_release_reads_the_plans_that_it_knows(release: Path, name: str) -> None:
    old, plan = OldSide(release), presets()[name].device
    if all(getattr(plan, slot).since <= release.name for slot in old.schema["slots"]):
        assert list(old.plan_complaints(device_plan_json(plan))) == []
    assert parse_device_plan(device_plan_json(plan)) == plan


@every_release
def test_a_hyperparameter_that_an_agent_does_not_know_is_refused_by_it_and_left_out_at_its_default(
    release: Path,
) -> None:
    old = OldSide(release)
    plan = json.loads(device_plan_json(parse_plan({"local": {"kind": "prox", "mu": 0.5}}).device))
    assert plan["local"] == {"kind": "prox", "mu": 0.5}
    plan["local"]["unheard_of"] = 1
    assert list(old.plan_complaints(json.dumps(plan).encode()))


@every_release
def test_defaults_never_change(release: Path) -> None:
    old, new = OldSide(release).schema, msgspec.to_builtins(wire_schema())

    def defaults(schema: Document, reference: str) -> dict[str, object]:
        properties = schema["$defs"][reference.rpartition("/")[2]]["properties"]
        return {name: field["default"] for name, field in properties.items() if "default" in field}

    for slot, kinds in old["slots"].items():
        for name, reference in kinds.items():
            before, now = defaults(old, reference["$ref"]), defaults(new, new["slots"][slot][name]["$ref"])
            assert before.items() <= now.items(), f"{slot} {name}"


@every_release
@pytest.mark.parametrize(
    ("slot", "kind"),
    [pytest.param(slot, kind, id=f"{slot}-{name}") for slot in SLOTS for name, kind in SLOTS[slot].kinds.items()],
)
def test_a_kind_is_as_old_as_it_says(release: Path, slot: str, kind: type[Kind]) -> None:
    slots = OldSide(release).schema["slots"]
    if slot in slots:
        assert (kind.__struct_config__.tag in slots[slot]) is (kind.since <= release.name)
