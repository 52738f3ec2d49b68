"""Run benchmarks: ``python -m tests.benchmarks [NAME]``. Each is a module here with ``measure() -> list[Figure]``.

``NAME.PART`` is one of its ``PARTS``, where it has any: ``inference.served``.
"""

import importlib
import pkgutil
import subprocess
import sys
from pathlib import Path

from tests.benchmarks.report import publish

HERE = Path(__file__).parent
NOT_BENCHMARKS = {"__main__", "report", "processes", "cloud_placement", "cloud_priority", "island"}
"""The last three are parts of others."""


def names() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules([str(HERE)]) if info.name not in NOT_BENCHMARKS)


def main(arguments: list[str]) -> int:
    match arguments:
        case []:
            # One process each, so that none inherits another's memory or imports.
            statuses = [subprocess.run([sys.executable, "-m", "tests.benchmarks", name]).returncode for name in names()]
            return max(statuses, default=0)
        case [name] if name in names():
            publish(name, importlib.import_module(f"tests.benchmarks.{name}").measure())
            return 0
        case [name] if name.partition(".")[0] in names():
            module, _, part = name.partition(".")
            parts = getattr(importlib.import_module(f"tests.benchmarks.{module}"), "PARTS", {})
            if part not in parts:
                sys.stderr.write(f"parts of {module}: {', '.join(parts) or 'none'}\n")
                return 2
            publish(name, list(parts[part]()))
            return 0
        case _:
            sys.stderr.write(f"usage: python -m tests.benchmarks [{' | '.join(names())}]\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
