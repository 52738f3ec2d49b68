"""Progress on the terminal, for commands that take long."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from coterie.simulation.progress import Lines, Report


@contextmanager
def reporting(name: str, shorter: str = "") -> Iterator[Report]:
    """A bar with the time left; a line every ten seconds where there is no terminal.

    `shorter` says what to do about a simulation that takes long.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield Lines(name, sys.stderr, time.monotonic, shorter)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task(name, total=1.0)
        yield lambda progress: bar.update(task, completed=progress.share)
