"""Samples from files: three formats, and every way in which one can be broken."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from coterie_agent.errors import AgentError, Exit
from coterie_agent.ingest.file import MAX_ARRAY_BYTES, MAX_LINE, read_rows
from coterie_agent.ingest.row import RowCheck
from coterie_agent.store.samples import NO_CLASS, Row, Widths
from coterie_wire.bundle import ModelSpec, TensorSpec
from tests.coterie_agent.bundles import SPEC

ROWS = [Row(np.array([0.5, -1, 2], dtype=np.float32).tobytes(), 1), Row(np.array([1, 2, 3], np.float32).tobytes(), 0)]


def csv(path: Path) -> Path:
    path = path.with_suffix(".csv")
    path.write_text("a,label,b,c\n0.5,1,-1,2\n\n1,0,2,3\n\n")
    return path


def json_lines(path: Path) -> Path:
    path = path.with_suffix(".jsonl")
    path.write_text('{"x": [0.5, -1, 2], "y": 1}\n\n{"x": [1, 2, 3], "y": 0}\n')
    return path


def npz(path: Path) -> Path:
    np.savez(path, x=np.array([[0.5, -1, 2], [1, 2, 3]]), y=np.array([1, 0]))
    return path.with_suffix(".npz")


@pytest.mark.parametrize("write", [csv, json_lines, npz])
def test_every_format_gives_the_same_rows(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "samples")
    assert list(read_rows(path, RowCheck(None))) == ROWS
    unlabelled = list(read_rows(path, RowCheck(Widths(3, 0), labelled=False)))
    assert [row.x for row in unlabelled] == [row.x for row in ROWS]


@pytest.mark.parametrize("write", [csv, json_lines])
def test_a_mark_of_the_byte_order_is_no_part_of_the_text(tmp_path: Path, write: Callable[[Path], Path]) -> None:
    path = write(tmp_path / "samples")
    path.write_text(path.read_text(), encoding="utf-8-sig")
    assert list(read_rows(path, RowCheck(None))) == ROWS


@pytest.mark.parametrize(
    ("name", "text", "code", "words"),
    [
        ("a.csv", "", "ingest.empty", "a.csv"),
        ("a.csv", "a,b\n1,2\n", "ingest.no_label", "first line"),
        ("a.csv", "a;b;label\n1,5;2;0\n", "ingest.malformed", "commas separate columns"),
        ("a.csv", "a\tb\tlabel\n1\t2\t0\n", "ingest.malformed", "commas separate columns"),
        ("a.csv", "a,label,label\n1,0,0\n", "ingest.malformed", "several columns"),
        ("a.csv", "a,label\n1,0\nx,1\n", "ingest.not_a_number", "line 3"),
        ("a.csv", "a,label\nnan,0\n", "ingest.not_a_number", "line 2"),
        ("a.csv", "a,label\n1e39,0\n", "ingest.not_a_number", "line 2"),
        ("a.csv", "a,b,label\n1e39,-1e39,0\n", "ingest.not_a_number", "line 2"),
        ("a.csv", "a,label\n1,0\n1,0,3\n", "ingest.wrong_width", "line 3"),
        ("a.csv", "a,label\n1,-1\n", "ingest.bad_label", "line 2"),
        ("a.csv", "a,label\n1,0.5\n", "ingest.bad_label", "line 2"),
        ("a.csv", "a,label\n1,7\n", "ingest.bad_label", "0 to 2"),
        ("a.csv", 'a,label\n"1,0\n', "ingest.malformed", "line 2"),
        ("a.jsonl", '{"x": [1], "y": 0}\n{"x": [1]\n', "ingest.malformed", "line 2"),
        ("a.jsonl", '{"x": [1], "y": 0}\n{"x": [1, 2], "y": 0}\n', "ingest.wrong_width", "line 2"),
        ("a.jsonl", '{"x": [1]}\n', "ingest.bad_label", "line 1"),
        ("a.npz", "not a zip", "ingest.malformed", "a.npz"),
        ("a.txt", "", "ingest.unknown_format", "ending"),
    ],
)
def test_a_broken_file_is_refused_with_its_line(tmp_path: Path, name: str, text: str, code: str, words: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(AgentError, match=words) as caught:
        list(read_rows(path, RowCheck(None, SPEC)))
    assert (caught.value.code, caught.value.exit_code) == (code, Exit.BAD_DATA)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_line_without_end_is_not_read_whole(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(MAX_LINE + 10)
    with pytest.raises(AgentError, match="longer than") as caught:
        list(read_rows(tmp_path / name, RowCheck(None)))
    assert caught.value.code == "ingest.malformed"


def test_a_label_that_no_model_can_have_is_refused_before_a_model_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,label\n1,2000000000\n")
    with pytest.raises(AgentError, match="999999"):
        list(read_rows(tmp_path / "a.csv", RowCheck(None)))


def test_arrays_that_unpack_to_too_much(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"")
        archive.infolist()[0].file_size = MAX_ARRAY_BYTES + 1  # as the directory, written last, will say
    with pytest.raises(AgentError) as caught:
        list(read_rows(tmp_path / "a.npz", RowCheck(None)))
    assert caught.value.code == "ingest.too_large"


def test_a_pickle_inside_an_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([[object()]], dtype=object), y=np.array([0]), allow_pickle=True)
    with pytest.raises(AgentError, match="no numbers"):
        list(read_rows(tmp_path / "a.npz", RowCheck(None)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        list(read_rows(tmp_path / "a.csv", RowCheck(None)))
    assert caught.value.code == "ingest.unreadable"


WRITER = msgspec.structs.replace(
    SPEC,
    inputs=(TensorSpec("words", "int64", (2,)), TensorSpec("mood", "float32", (1,))),
    target=TensorSpec("target", "int64", (2,)),
    output=TensorSpec("logits", "float32", (2, 9)),
    task="tokens",
)
REGRESSION = msgspec.structs.replace(
    SPEC,
    inputs=(TensorSpec("x", "float32", (2,)),),
    target=TensorSpec("target", "float32", (2,)),
    output=TensorSpec("values", "float32", (2,)),
    task="values",
)


def floats(*numbers: float) -> bytes:
    return np.array(numbers, np.float32).tobytes()


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "target,a,target_2,b\n0.5,1,-1,2\n"),
        ("a.jsonl", '{"x": [1, 2], "y": [0.5, -1]}\n'),
        ("a.jsonl", '{"x": {"x": [1, 2]}, "y": [0.5, -1]}\n'),
    ],
)
def test_targets_of_several_numbers(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    rows = list(read_rows(tmp_path / name, RowCheck.of_model(REGRESSION)))
    assert rows == [Row(floats(1, 2), NO_CLASS, floats(0.5, -1))]


def test_arrays_go_by_the_names_of_the_inputs(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", mood=np.array([[0.5]]), words=np.array([[3, 4]]), y=np.array([[4, 0]]))
    rows = list(read_rows(tmp_path / "a.npz", RowCheck.of_model(WRITER)))
    assert rows == [Row(floats(3, 4, 0.5), NO_CLASS, floats(4, 0))]


@pytest.mark.parametrize(
    ("model", "text", "code", "words"),
    [
        (WRITER, '{"x": {"words": [1, 2]}, "y": [1, 0]}', "ingest.wrong_width", "mood"),
        (WRITER, '{"x": [1.5, 2, 0], "y": [1, 0]}', "ingest.not_a_number", "words"),
        (WRITER, '{"x": [16777217, 2, 0], "y": [1, 0]}', "ingest.not_a_number", "16777215"),
        (WRITER, '{"x": [1, 2, 0], "y": [9, 0]}', "ingest.bad_label", "0 to 8"),
        (REGRESSION, '{"x": [1, 2], "y": [0.5]}', "ingest.bad_label", "expected 2"),
        (REGRESSION, '{"x": [1, 2], "y": 3}', "ingest.bad_label", "expected 2"),
        (REGRESSION, '{"x": [1, 2]}', "ingest.bad_label", "no target"),
        (SPEC, '{"x": [1, 2, 3, 4], "y": [1, 0]}', "ingest.bad_label", "expected a class"),
    ],
)
def test_what_the_model_does_not_take_is_refused(
    tmp_path: Path, model: ModelSpec, text: str, code: str, words: str
) -> None:
    (tmp_path / "a.jsonl").write_text(text)
    with pytest.raises(AgentError, match=words) as caught:
        list(read_rows(tmp_path / "a.jsonl", RowCheck.of_model(model)))
    assert caught.value.code == code


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(AgentError) as caught:
        list(read_rows(tmp_path / "a.csv", RowCheck(None)))
    assert caught.value.code == "ingest.malformed"
