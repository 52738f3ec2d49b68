"""What Helm makes of the chart, where `make check-chart` has installed it: the same as the tests' renderer."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.deploy.chart import CHART, RELEASE, REVISION, rendered
from tests.deploy.values import OVERRIDES

PYTHON = Path(__file__).resolve().parents[2] / "build" / "helm" / "bin" / "python"
PROGRAM = Path(__file__).with_name("helm.py")
pytestmark = pytest.mark.skipif(not PYTHON.exists(), reason="no Helm: make check-chart installs it")
# Any: JSON.
Json = dict[str, Any]


def by_helm(*values: Json) -> list[Json]:
    """What Helm answers to each."""
    lines = "".join(json.dumps(each) + "\n" for each in values)
    command = [PYTHON, PROGRAM, CHART, RELEASE, str(REVISION)]
    done = subprocess.run(command, input=lines, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def nested(overrides: Mapping[str, Any]) -> Json:
    """Values as a file has them."""
    values: Json = {}
    for name, value in overrides.items():
        *path, last = name.split("__")
        place = values
        for key in path:
            place = place.setdefault(key, {})
        place[last] = value
    return values


def by_name(objects: list[Json]) -> dict[tuple[str, str], Json]:
    return {(one["kind"], one["metadata"]["name"]): one for one in objects}


def test_helm_renders_what_the_tests_look_at_and_kubernetes_takes_it() -> None:
    for overrides, answer in zip(OVERRIDES, by_helm(*map(nested, OVERRIDES)), strict=True):
        assert "refused" not in answer, answer
        assert by_name(answer["objects"]) == by_name(rendered(**overrides)), overrides
        assert answer["lint"] == []
        assert [sentence for sentence in answer["unfit"] if sentence] == []


def test_helm_refuses_values_that_the_schema_does_not_know() -> None:
    for answer in by_helm({"replicas": 3}, {"publicUrl": "http://x"}, {"bundled": {"enabled": "yes"}}):
        assert "refused" in answer
