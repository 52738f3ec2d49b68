"""Hostile and broken files, at the platform and at an agent: each gets its documented code, and nothing of it stays."""

import io
import pickle
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from tests.system.conftest import Site
from tests.system.eventually import eventually
from tests.system.real_agent import RealAgent


class Trap:
    """Runs a command where it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return eval, (f"open({str(self.mark)!r}, 'w')",)


def archive(members: dict[str, bytes], compression: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return file.getvalue()


def npy(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


X, Y = npy(np.zeros((4, 3), np.float32)), npy(np.zeros(4, np.int64))


def claiming(shape: str) -> bytes:
    """An array whose header promises more than there is."""
    return X[:10] + X[10:128].replace(b"(4, 3)", shape.encode())[:118] + X[128:]


def trapped_array(mark: Path) -> bytes:
    return npy(np.array([Trap(mark)], dtype=object))


def understated() -> bytes:
    """A bomb that says it is small: 64 MB of zeros, declared as 176 bytes."""
    packed = archive({"x.npy": X[:128] + bytes(64 << 20), "y.npy": Y}, zipfile.ZIP_DEFLATED)
    return packed.replace(struct.pack("<I", 128 + (64 << 20)), struct.pack("<I", 176))


DATASETS: dict[str, Callable[[], bytes]] = {
    "no archive": lambda: b"PK but no archive",
    "truncated": lambda: archive({"x.npy": X, "y.npy": Y})[:-30],
    "one array": lambda: archive({"x.npy": X}),
    "no array among them": lambda: archive({"x.npy": X, "y.npy": Y, "read.me": Y}),
    "member outside": lambda: archive({"../x.npy": X, "y.npy": Y}),
    "array that is none": lambda: archive({"x.npy": b"\x93NUMPY\x01\x00", "y.npy": Y}),
    "promises too much": lambda: archive({"x.npy": claiming("(9**9, 3)"), "y.npy": Y}),
    "bomb": lambda: archive({"x.npy": X + bytes(64 << 20), "y.npy": Y}, zipfile.ZIP_DEFLATED),
    "understated bomb": understated,
    "not finite": lambda: archive({"x.npy": npy(np.full((4, 3), np.nan, np.float32)), "y.npy": Y}),
    "negative class": lambda: archive({"x.npy": X, "y.npy": npy(np.full(4, -1, np.int64))}),
    "labels for others": lambda: archive({"x.npy": X, "y.npy": npy(np.zeros(5, np.int64))}),
    "text": lambda: archive({"x.npy": npy(np.array(["a"] * 4)), "y.npy": Y}),
}
"""Made by the test that sends them: a bomb takes its time."""


def submit_dataset(site: Site, content: bytes) -> tuple[int, str]:
    answer = site.operator.http.post("/datasets/", data={"name": "bad"}, files={"file": ("bad.npz", content)})
    return answer.status_code, answer.json().get("code", "")


@pytest.mark.parametrize("name", DATASETS)
def test_bad_data_set_is_refused(site: Site, name: str) -> None:
    assert submit_dataset(site, DATASETS[name]()) == (422, "registry.bad_dataset")
    assert all(dataset["name"] != "bad" for dataset in site.operator.list("/datasets/"))


def test_pickle_in_a_data_set_is_refused_and_does_not_run(site: Site, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    content = archive({"x.npy": trapped_array(mark), "y.npy": Y})
    assert submit_dataset(site, content) == (422, "registry.bad_dataset")
    assert not mark.exists()


def test_bad_model_uploads_are_rejected_with_a_reason(site: Site, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    trap = pickle.dumps(Trap(mark))
    programs = {
        "pickle": (trap, "compile.malformed_upload"),
        "bomb": (archive({"m/models/model.json": bytes(64 << 20)}, zipfile.ZIP_DEFLATED), "compile.unsafe_upload"),
    }
    pairs = {}
    for name, (content, _) in programs.items():
        answer = site.operator.http.post(
            "/pairs/",
            data={"name": name, "labels": ["a", "b"], "batch_size": 4},
            files={"device": ("device.pt2", content), "cloud": ("cloud.pt2", content)},
        )
        assert answer.status_code == 201, answer.text
        pairs[name] = answer.json()["id"]
    for name, (_, code) in programs.items():
        pair = eventually(lambda: _judged(site, pairs[name]), within_s=90)  # noqa: B023 - called here
        assert (name, pair["state"], pair["reason_code"]) == (name, "rejected", code)
    assert not mark.exists()


def _judged(site: Site, pair: str) -> dict[str, str] | None:
    found = site.operator.get(f"/pairs/{pair}/")
    return found if found["state"] != "checking" else None


def test_forms_that_do_not_fit_are_refused(site: Site) -> None:
    assert submit_dataset(site, b"") == (400, "rest.invalid")
    program = ("program.pt2", b"program")
    for fields, status, code in [
        ({"name": "x", "labels": ["only one"]}, 422, "registry.bad_labels"),
        ({"name": "x", "labels": ["same", "same"]}, 422, "registry.bad_labels"),
        ({"name": "x" * 101, "labels": ["a", "b"]}, 400, "rest.invalid"),
        ({"name": "x", "labels": ["a", "b"], "batch_size": 0}, 400, "rest.invalid"),
        ({"name": "pair 0", "labels": ["a", "b"]}, 409, "registry.name_taken"),
    ]:
        answer = site.operator.http.post("/pairs/", data=fields, files={"device": program, "cloud": program})
        assert (answer.status_code, answer.json()["code"]) == (status, code)


INGESTED = {
    "empty.csv": (b"", "ingest.empty"),
    "no label.csv": (b"a,b\n1,2\n", "ingest.no_label"),
    "text.csv": (b"a,label\n1,0\nmuch,1\n", "ingest.not_a_number"),
    "infinite.csv": (b"a,label\n1,0\n1e999,1\n", "ingest.not_a_number"),
    "narrow.csv": (b"a,b,label\n1,2,0\n1,1\n", "ingest.wrong_width"),
    "label.csv": (b"a,label\n1,0\n2,1.5\n", "ingest.bad_label"),
    "quote.csv": (b'a,label\n1,0\n"2,1\n', "ingest.malformed"),
    "latin.csv": (b"a,label\n1,0\n\xff,1\n", "ingest.malformed"),
    "lines.jsonl": (b'{"x":[1],"y":0}\n{"x":', "ingest.malformed"),
    "arrays.npz": (archive({"x.npy": X[:60], "y.npy": Y}), "ingest.malformed"),
    "samples.pickle": (b"", "ingest.unknown_format"),
}


@pytest.mark.long
def test_broken_files_are_refused_whole_by_the_agent(site: Site, tmp_path: Path) -> None:
    agent = RealAgent(tmp_path / "agent", site.url, site.operator.enrolment_token())
    before = agent.status()["samples"]
    for name, (content, code) in INGESTED.items():
        (tmp_path / name).write_bytes(content)
        printed = agent.command("ingest", "--replace", str(tmp_path / name), expected=10)
        assert (name, printed["code"]) == (name, code)
    mark = tmp_path / "ran"
    (tmp_path / "trap.npz").write_bytes(archive({"x.npy": trapped_array(mark), "y.npy": Y}))
    assert agent.command("ingest", str(tmp_path / "trap.npz"), expected=10)["code"] == "ingest.malformed"
    assert not mark.exists()
    assert agent.status()["samples"] == before
