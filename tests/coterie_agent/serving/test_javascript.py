"""The JavaScript client as a program in Node uses it, against a real ``coterie-agent serve``."""

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from coterie_agent.client import Predictions
from coterie_agent.home import Home
from coterie_agent.serving.messages import PredictionAnswer
from coterie_agent.store.serving import Counted, Serving
from coterie_wire.conditions import Reason
from coterie_wire.latency import Histogram
from coterie_wire.predictions import Output, Prediction
from tests.coterie_agent.bundles import Bundle, samples
from tests.coterie_agent.serving.world import EDGE_AGENT, holding, serving

CLIENT = EDGE_AGENT / "coterie_agent" / "javascript"
TESTED = Path(__file__).parents[1] / "javascript"
NODE = shutil.which("node")
TSC = EDGE_AGENT.parent / "frontend" / "phone" / "node_modules" / ".bin" / "tsc"
needs_node = pytest.mark.skipif(NODE is None, reason="Node is not installed")
TRIES = 500
"""Until a deadline is missed that is next to nothing."""


class Program:
    """A program in Node that has the client."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def all(self, **request: object) -> list[dict[str, Any]]:
        """What came of a request, asked `times` at once."""
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        assert line, "the program ended"
        found: list[dict[str, Any]] = json.loads(line)
        return found

    def ask(self, **request: object) -> dict[str, Any]:
        (found,) = self.all(**request)
        return found


@contextmanager
def program(home: Path) -> Iterator[Program]:
    assert NODE is not None
    command = [NODE, str(TESTED / "asking.mjs"), str(home)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield Program(process)
        finally:
            process.kill()


@pytest.fixture
def home(bundle: Bundle) -> Iterator[Home]:
    with tempfile.TemporaryDirectory() as directory, holding(Path(directory), bundle) as (found, _):
        yield found  # in a directory whose path is short enough for a socket's


@needs_node
def test_it_answers_what_the_client_in_python_answers(home: Home) -> None:
    x, _ = samples(20)
    rows = [[float(number) for number in row.ravel()] for row in x]
    with serving(home), program(home.root) as node, Predictions(home.root) as model:
        told = msgspec.to_builtins(model.predict(rows))
        named = [{"pixels": row} for row in rows]
        for request in ({"samples": rows}, {"samples": rows, "typed": True}, {"samples": named}):
            answer = node.ask(**request)["answer"]
            assert answer["predictions"] == told["predictions"], request
            assert (answer["version"], answer["personal"], answer["form"]) == ("v1", False, "float32")
        beside = node.all(samples=rows[:1], times=8)
        assert [one["answer"]["predictions"] for one in beside] == [told["predictions"][:1]] * 8
        figures = node.ask(call="status")["answer"]
        assert figures["counted"]["answered"] == 12
        assert figures.keys() == msgspec.to_builtins(model.status()).keys()


@needs_node
def test_refusals_have_the_services_codes(home: Home) -> None:
    with program(home.root) as node:
        refused = node.ask(samples=[[1, 0, 0, 0]])["refused"]
        assert (refused["code"], refused["status"], refused["isPassing"]) == ("serve.not_running", None, False)
        assert refused["detail"].endswith("run: coterie-agent serve")
        with serving(home):
            refused = node.ask(samples=[[1]])["refused"]
            assert (refused["code"], refused["status"], refused["isPassing"]) == ("ingest.wrong_width", 422, False)
            assert node.ask(samples=[[1, 0, 0, 0]] * 257)["refused"]["code"] == "local_api.malformed"
            assert node.ask(samples=[[1, 0, 0, 0]], deadlineMs=-1)["refused"]["code"] == "local_api.malformed"
            assert node.ask(samples=[[1, 0, 0, 0]], aborted=True) == {"thrown": "enough"}
            assert node.ask(samples=[[1, 0, 0, 0]])["answer"]["version"] == "v1"


@needs_node
def test_a_missed_deadline_is_an_error_or_the_last_answer_of_the_stream(home: Home) -> None:
    request = {"samples": [[1, 0, 0, 0]], "deadlineMs": 0.0001}
    with serving(home), program(home.root) as node:
        late = next(one for _ in range(TRIES) if "refused" in (one := node.ask(**request)))["refused"]
        assert (late["code"], late["status"], late["isPassing"]) == ("serve.late", 504, False)
        first = node.ask(samples=[[1, 0, 0, 0]], stream="door")["answer"]
        assert (first["fallback"], first["age_s"]) == (None, 0)
        again = (node.ask(**request, stream="door")["answer"] for _ in range(TRIES))
        stale = next(one for one in again if one["fallback"] is not None)
        assert (stale["fallback"], stale["predictions"]) == ("last_answer", first["predictions"])
        assert stale["age_s"] > 0


@needs_node
def test_a_service_that_began_anew_is_found(home: Home) -> None:
    """At another address, with another token."""
    with program(home.root) as node:
        for _ in range(3):
            with serving(home):
                assert node.ask(samples=[[1, 0, 0, 0]])["answer"]["version"] == "v1"
            assert node.ask(samples=[[1, 0, 0, 0]])["refused"]["code"] == "serve.not_running"


@needs_node
@pytest.mark.skipif(not TSC.exists(), reason="TypeScript is not installed: npm --prefix frontend/phone ci")
def test_types_allow_what_is_right_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "node_modules").mkdir()
    (tmp_path / "node_modules" / "coterie-predictions").symlink_to(CLIENT)
    (tmp_path / "types.mts").write_text((TESTED / "types.mts").read_text())
    options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2022"]
    done = subprocess.run([TSC, *options, "types.mts"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize("struct", [PredictionAnswer, Counted, Histogram, Output, Prediction, Reason, Serving])
def test_types_name_the_fields_of_the_messages(struct: type[msgspec.Struct]) -> None:
    types = (CLIENT / "predictions.d.ts").read_text()
    found = re.search(rf"^export interface {struct.__name__} {{\n(.*?)^}}", types, re.MULTILINE | re.DOTALL)
    assert found is not None
    named = set(re.findall(r"^  (\w+): ", found[1], re.MULTILINE))
    tag = msgspec.inspect.type_info(struct)
    assert isinstance(tag, msgspec.inspect.StructType)
    kind = set() if tag.tag_field is None else {tag.tag_field}
    assert named == {field.encode_name for field in msgspec.structs.fields(struct)} | kind


def test_it_depends_on_nothing_and_has_the_agents_version() -> None:
    package = json.loads((CLIENT / "package.json").read_text())
    assert not {"dependencies", "peerDependencies", "devDependencies"} & package.keys()
    assert f'version = "{package["version"]}"' in (EDGE_AGENT / "pyproject.toml").read_text()
    imported = re.findall(r'^import .* from "([^"]+)"', (CLIENT / "predictions.js").read_text(), re.MULTILINE)
    assert imported and all(name.startswith("node:") for name in imported)
