"""Where ``coterie[sdk]`` alone is installed: an engineer's script and ``coterie compile`` say the same of a model."""

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import torch
from torch import nn

from coterie import sdk

CLASSES = 3


def main() -> None:
    found = [package for package in ("django", "celery", "redis", "channels", "sklearn") if find_spec(package)]
    assert not found, f"installed as well: {found}"
    module, example = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, CLASSES)), torch.zeros(2, 4)
    checked = sdk.check(module, example, progress=False)
    print(checked)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory, "device.pt2")
        batch = torch.export.Dim("batch")
        torch.export.save(torch.export.export(module, (example,), dynamic_shapes=({0: batch},)), path)
        command = [str(Path(sys.executable).with_name("coterie")), "compile", str(path), "--json"]
        told = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    assert told["report"]["operators"] == dict(checked.result.report.operators), told["report"]["operators"]
    assert told["model"]["output"]["shape"] == [CLASSES]


if __name__ == "__main__":  # the pre-flight's child process imports this module again
    main()
