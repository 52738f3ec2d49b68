"""Which devices are told of the smaller forms of the version that they hold."""

import msgspec
import pytest

from coterie.core.identity import verify_key
from coterie.registry.models import ModelVersion, Variant
from coterie.registry.selectors import offered_variants
from coterie.rounds import directives
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, Directive
from coterie_wire.variants import digest_of, verify_variants
from coterie_wire.version import PROTOCOL
from tests.coterie.world import START, ScriptedDevice, fleet_of, keep, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db


@pytest.fixture
def version() -> ModelVersion:
    """In use in a federation that waits for more devices."""
    pair = make_pair()
    version = make_version(pair)
    make_federation(pair, target_updates=5, min_updates=5)
    return version


@pytest.fixture
def device(version: ModelVersion) -> ScriptedDevice:
    return fleet_of(1)[0]


def offer(version: ModelVersion, content: bytes | None) -> None:
    reason = "" if content is not None else "quantise.does_not_pay"
    graph = None if content is None else keep(content)
    Variant.objects.update_or_create(
        version=version,
        name="int8",
        defaults={"graph": graph, "reason_code": reason, "measured": {}, "made_at": START},
    )


def hear(device: ScriptedDevice, held: str | None, known: str | None) -> Directive:
    message = CheckIn(protocol=PROTOCOL, conditions=Conditions(), version=held, variants=known)
    return directives.check_in(device=device.row, message=message, now=later(0))


def test_a_device_is_told_of_the_forms_that_it_does_not_know(version: ModelVersion, device: ScriptedDevice) -> None:
    offer(version, b"int8")
    held = str(version.pk)
    told = hear(device, held, "").variants
    assert told is not None
    listed = verify_variants(told, verify_key())
    assert (listed.version, [(one.name, one.graph.size_bytes) for one in listed.variants]) == (held, [("int8", 4)])
    assert hear(device, held, digest_of(told)).variants is None
    offer(version, b"another int8")
    again = hear(device, held, digest_of(told)).variants
    assert again is not None and again != told


@pytest.mark.parametrize("known", [None, ""], ids=["takes none", "knows none"])
@pytest.mark.parametrize("held", [None, "no version of ours", "another"])
def test_a_device_that_takes_none_or_holds_another_version_is_not(
    version: ModelVersion, device: ScriptedDevice, known: str | None, held: str | None
) -> None:
    offer(version, b"int8")
    if held == "another":
        held = str(make_version(version.pair, seed=3).pk)
    assert hear(device, held, known).variants is None
    assert hear(device, str(version.pk), None).variants is None


def test_what_was_refused_is_no_form(version: ModelVersion, device: ScriptedDevice) -> None:
    offer(version, None)
    assert hear(device, str(version.pk), "").variants is None
    assert offered_variants([str(version.pk)]) == {}


def test_equal_lists_have_equal_bytes(version: ModelVersion) -> None:
    offer(version, b"int8")
    first, second = (offered_variants([str(version.pk)])[str(version.pk)] for _ in range(2))
    assert msgspec.json.encode(first) == msgspec.json.encode(second)
