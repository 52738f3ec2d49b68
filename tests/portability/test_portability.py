import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from tests.portability.cases import write_cases
from tests.zoo.models import SMALL, SMALL_OF_ANY_LENGTH

HERE = Path(__file__).parent
WASM = HERE.parents[1] / "build" / "wasm"
AGENT = HERE.parents[1] / "edge_agent" / "pyproject.toml"
FEW = ("lenet", "gru", "recommender")


@pytest.fixture(scope="module")
def node() -> str:
    """Node's command, where it has a runtime of WebAssembly."""
    found = shutil.which("node")
    if found is None or not (WASM / "node_modules" / "onnxruntime-web").is_dir():
        pytest.skip("onnxruntime-web is not installed: `make test-portable` installs it")
    return found


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cases")
    of_any_length = {"of_any_length": SMALL_OF_ANY_LENGTH["encoder"]}
    write_cases({**{name: SMALL[name] for name in FEW}, **of_any_length}, folder)
    return folder


def test_webassembly_gives_the_same_numbers(node: str, cases: Path) -> None:
    done = subprocess.run([node, HERE / "run_cases.mjs", cases, WASM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("e-") + done.stdout.count("e+") >= len(FEW) + 1


def test_oldest_onnxruntime_is_the_agents_lower_bound() -> None:
    dependencies = tomllib.loads(AGENT.read_text())["project"]["dependencies"]
    (bound,) = (found.group(1) for entry in dependencies if (found := re.match(r"onnxruntime>=([\d.]+)", entry)))
    assert f"onnxruntime=={bound}\n" in (HERE / "oldest.txt").read_text()
