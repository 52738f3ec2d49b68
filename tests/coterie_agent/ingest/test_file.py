"""Samples from files: three formats, and every way in which one can be broken."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from coterie_agent.errors import AgentError, Exit
from coterie_agent.ingest.file import MAX_ARRAY_BYTES, MAX_LINE, read_rows
from coterie_agent.ingest.row import RowCheck
from coterie_agent.store.samples import Row

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
    assert list(read_rows(path, RowCheck(features=None))) == ROWS
    unlabelled = list(read_rows(path, RowCheck(features=3, labelled=False)))
    assert [row.x for row in unlabelled] == [row.x for row in ROWS]


@pytest.mark.parametrize(
    ("name", "text", "code", "words"),
    [
        ("a.csv", "", "ingest.empty", "a.csv"),
        ("a.csv", "a,b\n1,2\n", "ingest.no_label", "first line"),
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
        list(read_rows(path, RowCheck(features=None, classes=3)))
    assert (caught.value.code, caught.value.exit_code) == (code, Exit.BAD_DATA)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl"])
def test_a_line_without_end_is_not_read_whole(tmp_path: Path, name: str) -> None:
    with (tmp_path / name).open("wb") as file:
        file.truncate(MAX_LINE + 10)
    with pytest.raises(AgentError, match="longer than") as caught:
        list(read_rows(tmp_path / name, RowCheck(features=None)))
    assert caught.value.code == "ingest.malformed"


def test_a_label_that_no_model_can_have_is_refused_before_a_model_is_known(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("a,label\n1,2000000000\n")
    with pytest.raises(AgentError, match="999999"):
        list(read_rows(tmp_path / "a.csv", RowCheck(features=None)))


def test_arrays_that_unpack_to_too_much(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", b"")
        archive.infolist()[0].file_size = MAX_ARRAY_BYTES + 1  # as the directory, written last, will say
    with pytest.raises(AgentError) as caught:
        list(read_rows(tmp_path / "a.npz", RowCheck(features=None)))
    assert caught.value.code == "ingest.too_large"


def test_a_pickle_inside_an_npz_is_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", x=np.array([[object()]], dtype=object), y=np.array([0]), allow_pickle=True)
    with pytest.raises(AgentError, match="no numbers"):
        list(read_rows(tmp_path / "a.npz", RowCheck(features=None)))


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(AgentError) as caught:
        list(read_rows(tmp_path / "a.csv", RowCheck(features=None)))
    assert caught.value.code == "ingest.unreadable"


def test_bytes_that_are_not_text(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"a,label\n\xff\xfe,1\n")
    with pytest.raises(AgentError) as caught:
        list(read_rows(tmp_path / "a.csv", RowCheck(features=None)))
    assert caught.value.code == "ingest.malformed"
