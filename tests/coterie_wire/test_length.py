"""Lengths of samples: what a sample of some length has, and back."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_wire.bundle import Dtype, ModelSpec, TensorSpec
from coterie_wire.contract import (
    accepted_sizes,
    at_length,
    input_size,
    length_axes,
    length_of,
    padding_value,
    target_size,
)
from coterie_wire.length import Length
from coterie_wire.structs import from_json
from tests.coterie_agent.bundles import SPEC

WORDS = TensorSpec("words", "int64", (9,))
SOUND = TensorSpec("sound", "float32", (2, 9))
MOOD = TensorSpec("mood", "float32", (3,))
LENGTH = Length(2, 9, {"words": 0, "sound": 1, "target": 0, "logits": 0})
WRITER = ModelSpec(
    inputs=(WORDS, SOUND, MOOD),
    target=TensorSpec("target", "int64", (9,)),
    output=TensorSpec("logits", "float32", (9, 7)),
    task="tokens",
    batch_size=4,
    parameters=(),
    optimiser_state=(),
    scalars=("learning_rate", "proximal_weight"),
    padding=0,
    length=LENGTH,
)


@given(st.integers(2, 9))
def test_a_length_is_told_by_the_numbers_of_a_sample(length: int) -> None:
    there = at_length(WRITER, length)
    assert [tensor.shape for tensor in there.inputs] == [(length,), (2, length), (3,)]
    assert (there.target.shape, there.output.shape, target_size(there)) == ((length,), (length, 7), length)
    assert length_of(WRITER, input_size(there)) == length
    shapes = {tensor.name: tensor.shape for tensor in (*there.inputs, there.target)}
    assert LENGTH.found_in(shapes) == length


@pytest.mark.parametrize("numbers", [0, 3, 3 + 3, 3 + 3 * 10, 3 + 3 * 4 + 1])
def test_a_sample_of_another_size_has_no_length(numbers: int) -> None:
    assert length_of(WRITER, numbers) is None


def test_where_all_samples_have_one_shape_there_is_nothing_to_tell() -> None:
    assert (length_of(SPEC, 4), length_of(SPEC, 5)) == (0, None)
    assert at_length(SPEC, 0) is SPEC
    assert (length_axes(SPEC), accepted_sizes(SPEC)) == ({}, "4")


def test_people_read_how_long_samples_are() -> None:
    assert accepted_sizes(WRITER) == "9 to 30, in samples 2 to 9 long"


def test_only_what_may_be_a_token_is_filled_up_with_padding() -> None:
    model = msgspec.structs.replace(WRITER, padding=5)
    dtypes: dict[Dtype, int] = {"int64": 5, "int32": 5, "float32": 0, "uint8": 0, "bool": 0}
    for dtype, number in dtypes.items():
        assert padding_value(TensorSpec("here", dtype, (9,)), model) == number
    assert padding_value(WORDS, SPEC) == 0


def test_people_read_which_axis_is_the_length() -> None:
    assert LENGTH.sizes("sound", (2, 9)) == ["2", "2 to 9"]
    assert LENGTH.sizes("mood", (3,)) == ["3"]


def test_a_batch_has_the_axis_behind_its_own() -> None:
    assert length_axes(WRITER) == {"words": 1, "sound": 2, "target": 1, "logits": 1, "teacher": 1}


@pytest.mark.parametrize(
    ("shapes", "found"),
    [
        ({"words": (4,), "sound": (2, 5)}, None),
        ({"words": (1,)}, None),
        ({"words": (10,)}, None),
        ({"words": ()}, None),
        ({"mood": (3,)}, None),
        ({"words": (4,), "sound": (2, 4), "mood": (3,)}, 4),
    ],
)
def test_tensors_agree_on_their_length(shapes: dict[str, tuple[int, ...]], found: int | None) -> None:
    assert LENGTH.found_in(shapes) == found


def test_a_model_without_lengths_is_written_as_before() -> None:
    assert b"length" not in msgspec.json.encode(SPEC)
    assert from_json(msgspec.json.encode(WRITER), ModelSpec) == WRITER


@pytest.mark.parametrize(
    "length",
    [
        {"shortest": 5, "longest": 4, "axes": {"words": 0}},
        {"shortest": 0, "longest": 9, "axes": {"words": 0}},
        {"shortest": 2, "longest": 9, "axes": {}},
        {"shortest": 2, "longest": 9, "axes": {"nothing": 0}},
        {"shortest": 2, "longest": 9, "axes": {"target": 0}},
        {"shortest": 2, "longest": 8, "axes": {"words": 0}},
        {"shortest": 2, "longest": 9, "axes": {"words": 0, "mood": 0}},
        {"shortest": 2, "longest": 9, "axes": {"words": 3}},
    ],
    ids=["turned", "nothing long", "no axis", "unknown", "no input", "not the longest", "another size", "beyond"],
)
def test_what_fits_no_sample_is_refused(length: dict[str, object]) -> None:
    plain = msgspec.to_builtins(msgspec.structs.replace(WRITER, length=msgspec.UNSET))
    with pytest.raises(msgspec.ValidationError):
        from_json(msgspec.json.encode({**plain, "length": length}), ModelSpec)
