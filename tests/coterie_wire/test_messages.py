"""Messages: every sample survives the journey, and nothing but a WireError comes of anything else."""

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie_wire.errors import MAX_DETAIL_CHARS, WireError
from coterie_wire.message import Message
from coterie_wire.messages import (
    EXCHANGES,
    MAX_MESSAGE_BYTES,
    CheckIn,
    Enrol,
    Leave,
    OfferUpdate,
    PlatformFrame,
    Progress,
    Request,
    UploadState,
    decode,
    decode_platform_frame,
)
from tests.contract.samples import MESSAGES, PLATFORM_FRAMES, PROBLEM, REQUEST

every_message = pytest.mark.parametrize("message", MESSAGES, ids=lambda message: type(message).__name__)
STRUCTS: tuple[type[msgspec.Struct], ...] = (*(type(message) for message in MESSAGES), Request, type(PROBLEM))


def refusal(struct: type[msgspec.Struct], data: bytes) -> WireError:
    with pytest.raises(WireError) as caught:
        decode(struct, data)
    return caught.value


def test_the_samples_are_complete() -> None:
    exchanged = {struct for exchange in EXCHANGES.values() for struct in exchange}
    assert {type(message) for message in MESSAGES} == exchanged


@every_message
def test_a_message_arrives_as_it_was_sent(message: Message) -> None:
    sent = msgspec.json.encode(message)
    assert decode(type(message), sent) == message
    assert decode(type(message), msgspec.Raw(sent)) == message


@pytest.mark.parametrize("frame", PLATFORM_FRAMES, ids=lambda frame: type(frame).__name__)
def test_a_frame_arrives_as_it_was_sent(frame: PlatformFrame) -> None:
    assert decode_platform_frame(msgspec.json.encode(frame)) == frame


def test_a_request_frame_and_a_problem_arrive_as_they_were_sent() -> None:
    assert decode(Request, msgspec.json.encode(REQUEST)) == REQUEST
    assert decode(type(PROBLEM), msgspec.json.encode(PROBLEM)) == PROBLEM


@every_message
def test_unknown_fields_are_passed_over(message: Message) -> None:
    more = msgspec.json.decode(msgspec.json.encode(message)) | {"unheard_of": 1}
    assert decode(type(message), msgspec.json.encode(more)) == message


def test_an_offer_of_an_agent_that_does_not_measure_its_memory_is_read() -> None:
    offer = next(message for message in MESSAGES if isinstance(message, OfferUpdate))
    sent = msgspec.json.decode(msgspec.json.encode(offer))
    assert sent.pop("train_memory_bytes") == offer.train_memory_bytes
    assert decode(OfferUpdate, msgspec.json.encode(sent)).train_memory_bytes is None


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e999", b"null"])
def test_numbers_that_are_not_finite_are_refused(number: bytes) -> None:
    offer = next(message for message in MESSAGES if isinstance(message, OfferUpdate))
    sent = msgspec.json.encode(offer).replace(b'"loss_before":1.25', b'"loss_before":' + number)
    assert number in sent
    assert refusal(OfferUpdate, sent).code == "wire.malformed"


def test_a_message_at_the_limit_is_read_and_one_above_is_not() -> None:
    assert decode(Leave, b"{}".ljust(MAX_MESSAGE_BYTES)) == Leave()
    assert refusal(Leave, b"{}".ljust(MAX_MESSAGE_BYTES + 1)).code == "wire.too_large"
    with pytest.raises(WireError) as caught:
        decode_platform_frame(b" " * (MAX_MESSAGE_BYTES + 1))
    assert caught.value.code == "wire.too_large"


def test_a_detail_does_not_repeat_all_that_was_sent() -> None:
    said = b'{"assignment":"a","stage":"%s"}' % (b"x" * 100_000)
    assert len(refusal(Progress, said).detail) == MAX_DETAIL_CHARS


@pytest.mark.parametrize("data", [b"", b"[" * 100_000, b'{"a":' * 100_000, b'"\xff"', b'{"offset":1}{}', b"9" * 10_000])
@pytest.mark.parametrize("struct", STRUCTS, ids=lambda struct: struct.__name__)
def test_known_poisons_are_malformed(struct: type[msgspec.Struct], data: bytes) -> None:
    assert refusal(struct, data).code == "wire.malformed"


@given(st.sampled_from([CheckIn, Enrol, OfferUpdate, Request, UploadState]), st.binary(max_size=80))
@settings(max_examples=200)
def test_arbitrary_bytes_raise_only_wire_errors(struct: type[msgspec.Struct], data: bytes) -> None:
    assert refusal(struct, data).code == "wire.malformed"
    with pytest.raises(WireError):
        decode_platform_frame(data)


@given(st.sampled_from(MESSAGES), st.data())
@settings(max_examples=300)
def test_a_damaged_message_is_refused_or_still_a_message(message: Message, data: st.DataObject) -> None:
    sent = bytearray(msgspec.json.encode(message))
    for _ in range(data.draw(st.integers(1, 3))):
        sent[data.draw(st.integers(0, len(sent) - 1))] = data.draw(st.integers(0, 255))
    try:
        arrived = decode(type(message), bytes(sent[: data.draw(st.integers(0, len(sent)))]))
    except WireError as error:
        assert error.code in {"wire.malformed", "wire.protocol"}
    else:
        assert isinstance(arrived, type(message))
