"""Updates on their way: resumed, replayed, replaced, foreign, malformed."""

from collections.abc import Callable

import msgspec
import numpy as np
import pytest

from coterie.core.errors import CoterieError
from coterie.federations.models import Federation
from coterie.merging.files import updates_of
from coterie.merging.models import Update
from coterie.rounds.advancing import sweep
from coterie.rounds.assigning import release_assignment
from coterie.rounds.models import Assignment, Round, Upload
from coterie.rounds.uploads import complete_upload, largest_update_bytes, open_upload
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.local.multitask import MultiTask
from coterie_learning.local.sgd import Sgd
from coterie_learning.payloads import Payload
from coterie_wire.bundle import TensorSpec
from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError
from coterie_wire.tensor_files import TensorFile
from coterie_wire.tensors import encode_tensors
from tests.coterie.world import (
    ON_BATTERY,
    ScriptedDevice,
    fleet_of,
    later,
    make_federation,
    make_pair,
    make_version,
    parameters,
)
from tests.coterie_agent.bundles import spec_of
from tests.own_kind import count_as_own_kind

pytestmark = pytest.mark.django_db


@pytest.fixture
def federation() -> Federation:
    pair = make_pair()
    make_version(pair)
    return make_federation(pair, target_updates=3, min_updates=1)


@pytest.fixture
def device(federation: Federation) -> ScriptedDevice:
    return fleet_of(1)[0]


@pytest.fixture
def assignment(device: ScriptedDevice) -> str:
    directive = device.check_in(later(0))
    assert directive.assignment is not None
    return directive.assignment.assignment


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises((CoterieError, WireError)) as caught:
        action()
    return str(caught.value.code)


def test_an_upload_goes_on_where_it_broke_off(device: ScriptedDevice, assignment: str) -> None:
    payload = device.payload(1)
    assert device.offer(assignment, payload, later(1)).offset == 0
    state = device.send(assignment, payload[:10], 0, later(2))
    assert (state.offset, state.accepted) == (10, False)
    assert device.offer(assignment, payload, later(3)).offset == 10
    assert device.send(assignment, payload[10:], 10, later(4)).accepted
    update = Update.objects.get()
    with updates_of(update.assignment.round_id).open(update.sha256) as file:
        assert file.read() == payload


@pytest.mark.parametrize("told", [{}, {"train_memory_bytes": 61_000_000}])
def test_an_update_has_the_memory_of_training_where_the_device_tells_it(
    device: ScriptedDevice, assignment: str, told: dict[str, int]
) -> None:
    payload = device.payload(1)
    device.offer(assignment, payload, later(1), **told)
    device.send(assignment, payload, 0, later(2))
    assert Update.objects.get().train_memory_bytes == told.get("train_memory_bytes")


def test_bytes_for_another_place_are_refused(device: ScriptedDevice, assignment: str) -> None:
    payload = device.payload(1)
    device.offer(assignment, payload, later(1))
    device.send(assignment, payload[:10], 0, later(2))
    with pytest.raises(CoterieError) as caught:
        open_upload(device.row, assignment, 0, later(3))
    assert caught.value.code == "upload.wrong_offset"
    assert caught.value.fields == {"offset": 10, "given": 0}


def test_everything_may_be_said_twice(device: ScriptedDevice, assignment: str) -> None:
    payload = device.payload(1)
    assert device.deliver(assignment, later(1), seed=1).accepted
    assert device.offer(assignment, payload, later(2)).accepted
    assert complete_upload(device.row, assignment, later(3)).accepted
    assert Update.objects.count() == 1


def test_what_arrived_before_a_crash_is_verified_when_it_is_offered_again(
    device: ScriptedDevice, assignment: str
) -> None:
    payload = device.payload(1)
    device.offer(assignment, payload, later(1))
    open_upload(device.row, assignment, 0, later(2)).write(0, payload)
    assert device.offer(assignment, payload, later(3)).accepted


def test_an_update_may_be_replaced_until_it_counts(device: ScriptedDevice, assignment: str) -> None:
    first, second = device.payload(1), device.payload(2)
    device.offer(assignment, first, later(1))
    device.send(assignment, first[:10], 0, later(2))
    assert device.offer(assignment, second, later(3)).offset == 0
    assert device.send(assignment, second, 0, later(4)).accepted
    assert code_of(lambda: device.offer(assignment, first, later(5))) == "rounds.already_delivered"


def test_nobody_delivers_for_another(device: ScriptedDevice, assignment: str) -> None:
    (other,) = [
        ScriptedDevice(row)
        for row in [device.row.__class__.objects.create(name="other", credential_hash="other", enrolled_at=later(0))]
    ]
    assert code_of(lambda: other.deliver(assignment, later(1), seed=1)) == "rounds.not_your_assignment"
    assert code_of(lambda: open_upload(other.row, assignment, 0, later(1))) == "rounds.not_your_assignment"


@pytest.mark.parametrize("name", ["", "nonsense", "00000000-0000-0000-0000-000000000000"])
def test_an_assignment_must_exist(device: ScriptedDevice, name: str) -> None:
    assert code_of(lambda: device.deliver(name, later(1), seed=1)) == "rounds.unknown_assignment"


def test_an_upload_must_be_offered(device: ScriptedDevice, assignment: str) -> None:
    assert code_of(lambda: open_upload(device.row, assignment, 0, later(1))) == "rounds.not_offered"
    assert code_of(lambda: complete_upload(device.row, assignment, later(1))) == "rounds.not_offered"


def test_a_released_assignment_takes_no_update(device: ScriptedDevice, assignment: str) -> None:
    release_assignment(device=device.row, assignment_id=assignment, reason=ON_BATTERY, now=later(1))
    release_assignment(device=device.row, assignment_id=assignment, reason=ON_BATTERY, now=later(2))
    assert code_of(lambda: device.deliver(assignment, later(3), seed=1)) == "rounds.assignment_closed"


def test_a_closed_round_takes_no_update(device: ScriptedDevice, assignment: str) -> None:
    payload = device.payload(1)
    device.offer(assignment, payload, later(1))
    device.send(assignment, payload[:10], 0, later(2))
    sweep(now=later(700))
    assert code_of(lambda: open_upload(device.row, assignment, 10, later(701))) == "rounds.assignment_closed"
    assert not Upload.objects.exists()


def with_a_number(number: float) -> bytes:
    tensors = {name: tensor.copy() for name, tensor in parameters(1).items()}
    tensors["bias"][0] = number
    settings = msgspec.json.encode(Float32Codec()).decode()
    return encode_tensors(tensors, {"codec": settings})


def of_another_shape() -> bytes:
    update = {"weight": np.zeros((4, 3), np.float32), "bias": np.zeros(3, np.float32)}
    return Int8().encode(update, seed=0).payload


@pytest.mark.parametrize(
    ("payload", "code"),
    [
        (b"not tensors", "update.malformed"),
        (Int8().encode(parameters(1), seed=1).payload[:-1], "update.malformed"),
        (b"\xff\xff\xff\xff\xff\xff\xff\x7f" + b"{}", "update.malformed"),
        (of_another_shape(), "update.wrong_shape"),
        (Float32Codec().encode(parameters(1), seed=1).payload, "update.wrong_codec"),
        (Int8(granularity="tensor").encode(parameters(1), seed=1).payload, "update.wrong_codec"),
    ],
)
def test_a_wrong_update_ends_its_assignment_and_changes_nothing_else(
    payload: bytes, code: str, device: ScriptedDevice, assignment: str
) -> None:
    device.offer(assignment, payload, later(1))
    assert code_of(lambda: device.send(assignment, payload, 0, later(2))) == code
    part = Assignment.objects.get()
    assert (part.state, part.reason_code) == ("rejected", code)
    assert not Update.objects.exists()
    assert Round.objects.get().state == Round.State.OPEN
    assert device.check_in(later(3)).wait.code == code


def test_where_the_code_of_a_codec_fails_the_assignment_ends_with_its_line(
    monkeypatch: pytest.MonkeyPatch, device: ScriptedDevice, assignment: str
) -> None:
    def broken(self: Int8, stored: TensorFile, expected: tuple[TensorSpec, ...]) -> Payload:
        raise KeyError("no such table")

    payload = Int8().encode(parameters(1), seed=1).payload
    device.offer(assignment, payload, later(1))
    with monkeypatch.context() as patch:
        count_as_own_kind(patch, __name__)
        patch.setattr(Int8, "payload", broken)
        assert code_of(lambda: device.send(assignment, payload, 0, later(2))) == "kinds.failed_on_platform"
    part = Assignment.objects.get()
    assert (part.state, part.reason_code) == ("rejected", "kinds.failed_on_platform")
    assert "acme-kinds 1.0 failed in " in part.reason_sentence


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_an_update_must_be_finite(number: float) -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair)
    federation.plan["codec"] = {"kind": "float32"}
    federation.save()
    (device,) = fleet_of(1)
    assignment = device.check_in(later(0)).assignment.assignment
    payload = with_a_number(number)
    device.offer(assignment, payload, later(1))
    assert code_of(lambda: device.send(assignment, payload, 0, later(2))) == "update.not_finite"


def test_an_update_must_be_what_was_announced(device: ScriptedDevice, assignment: str) -> None:
    first, second = device.payload(1), device.payload(2)
    device.offer(assignment, first, later(1))
    assert code_of(lambda: device.send(assignment, second, 0, later(2))) == "upload.wrong_hash"


@pytest.mark.parametrize(
    ("facts", "code"),
    [
        ({"size_bytes": 0}, "update.implausible"),
        ({"size_bytes": 1 << 40}, "update.too_large"),
        ({"steps_done": 6}, "update.implausible"),
        ({"samples": 41}, "update.implausible"),
        ({"loss_after": 1e300}, "update.implausible"),
        ({"samples": 81, "steps_done": 99, "steps_total": 99}, "update.implausible"),
    ],
)
def test_an_offer_that_cannot_be_true_is_refused(
    facts: dict[str, int], code: str, device: ScriptedDevice, assignment: str
) -> None:
    assert code_of(lambda: device.offer(assignment, device.payload(1), later(1), **facts)) == code
    assert Assignment.objects.get().state == "rejected"
    assert not Upload.objects.exists()


def test_an_update_as_large_as_the_model_is_taken() -> None:
    pair = make_pair()
    make_version(pair)
    federation = make_federation(pair)
    federation.plan["codec"] = {"kind": "float32"}
    federation.save()
    (device,) = fleet_of(1)
    assignment = device.check_in(later(0)).assignment.assignment
    payload = Float32Codec().encode(parameters(1), seed=1).payload
    device.offer(assignment, payload, later(1))
    assert device.send(assignment, payload, 0, later(2)).accepted


def test_every_part_of_an_update_may_be_as_large_as_the_model() -> None:
    model, local = spec_of(side=32, classes=10, batch=8), MultiTask()
    whole = {spec.name: np.ones(spec.shape, np.float32) for spec in model.parameters}
    size_bytes = len(local.parts) * len(Float32Codec().encode(whole, seed=1).payload)
    assert largest_update_bytes(model, Sgd()) < size_bytes <= largest_update_bytes(model, local)


def test_a_reason_given_by_the_device_is_kept(device: ScriptedDevice, assignment: str) -> None:
    reason = Reason("agent.out_of_memory", "the model does not fit")
    release_assignment(device=device.row, assignment_id=assignment, reason=reason, now=later(1))
    assert device.check_in(later(2)).wait == reason
