"""Run benchmarks: ``python -m tests.benchmarks [NAME]``. Each is a module here with ``measure() -> list[Figure]``.

``NAME.PART`` is one of its ``PARTS``, where it has any: ``inference.served``.
"""

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from tests.benchmarks.ending import raise_when_asked, run
from tests.benchmarks.report import Figure, publish

HERE = Path(__file__).parent
NOT_BENCHMARKS = {"__main__", "ending", "report", "processes", "cloud_placement", "cloud_priority", "island"}
"""The last three are parts of others."""


def names() -> list[str]:
    return sorted(info.name for info in pkgutil.iter_modules([str(HERE)]) if info.name not in NOT_BENCHMARKS)


def parts_of(name: str) -> Mapping[str, Callable[[], Iterable[Figure]]]:
    """Of a benchmark, where it has any."""
    parts: Mapping[str, Callable[[], Iterable[Figure]]] = getattr(
        importlib.import_module(f"tests.benchmarks.{name}"), "PARTS", {}
    )
    return parts


def measure(name: str) -> int:
    """One benchmark, or one part of one, in this process."""
    module, _, part = name.partition(".")
    if part and part not in parts_of(module):
        sys.stderr.write(f"parts of {module}: {', '.join(parts_of(module)) or 'none'}\n")
        return 2
    found = parts_of(module)[part]() if part else importlib.import_module(f"tests.benchmarks.{module}").measure()
    publish(name, list(found))
    return 0


def main(arguments: list[str]) -> int:
    match arguments:
        case ["--here", name]:
            raise_when_asked()
            return measure(name)
        case [] | [_] if all(name.partition(".")[0] in names() for name in arguments):
            # One process each, so that none inherits another's memory or imports, and nothing is left of any.
            return max(run([sys.executable, "-m", "tests.benchmarks", "--here", name]) for name in arguments or names())
        case _:
            sys.stderr.write(f"usage: python -m tests.benchmarks [{' | '.join(names())}]\n")
            return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
