"""The demo on the terminal: what happens now above, what has happened scrolling by."""

import time
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from coterie.demo.view import AssignmentRow, DeviceRow, MemberRow, RoundRow, View

STYLES: Mapping[str, str] = {
    "published": "green",
    "delivered": "green",
    "training": "cyan",
    "uploading": "cyan",
    "open": "cyan",
    "merging": "cyan",
    "abandoned": "red",
    "rejected": "red",
    "dropped": "yellow",
    "released": "yellow",
    "waiting": "yellow",
}


class Screen:
    """Tables that follow the fleet on a terminal; where there is none, a line for each event."""

    def __init__(self, console: Console, *, rounds_wanted: int, holds: str = "digits it sees") -> None:
        """`holds` heads what each device has."""
        self.console, self._holds = console, holds
        self._rounds_wanted = rounds_wanted
        self._started = time.monotonic()
        self._title = "Coterie"
        self._doing = ""
        self._view = View()
        self._peers: Sequence[MemberRow] = ()
        self._holdings: Mapping[str, str] = {}
        self._live = Live(console=console, auto_refresh=False, transient=True)

    def __enter__(self) -> Self:
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self.rest()

    def rest(self) -> None:
        """Take the tables away; what has been said stays."""
        self._live.stop()

    def open_at(self, url: str) -> None:
        """Tell where the fleet can be seen in a browser."""
        self._title = f"Coterie  {url}"
        self.say(f"The fleet is at {url}")

    def holdings(self, holdings: Mapping[str, str]) -> None:
        """What each device, by name, holds."""
        self._holdings = holdings

    def say(self, sentence: str) -> None:
        """One line that stays."""
        elapsed = f"{time.monotonic() - self._started:6.1f} s  "
        self.console.print(Text.assemble((elapsed, "dim"), sentence), soft_wrap=True)

    def doing(self, sentence: str) -> None:
        """What is going on before there are rounds."""
        self._doing = sentence
        self._refresh()

    def show(self, view: View, peers: Sequence[MemberRow]) -> None:
        """Bring the tables up to date."""
        self._view, self._peers = view, peers
        self._refresh()

    def _refresh(self) -> None:
        if self._live.is_started:
            self._live.update(self._render(), refresh=True)

    def _render(self) -> RenderableType:
        parts: list[RenderableType] = [Text(self._doing, style="cyan")] if self._doing else []
        if self._view.devices:
            parts.append(_devices(self._view, self._holdings, self._holds))
        if self._peers:
            parts.append(_peers(self._peers))
        if self._view.rounds:
            parts.append(_rounds(self._view.rounds[-5:], self._rounds_wanted))
        return Panel(Group(*parts), title=self._title, title_align="left", border_style="dim")


def _devices(view: View, holdings: Mapping[str, str], holds: str) -> Table:
    table = Table(box=None, expand=True, header_style="dim")
    for heading in ("device", holds, "does", "why not"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for device in view.devices:
        assignment = view.assignment_of(device)
        reason = "; ".join(reason.sentence for reason in device.reasons)
        table.add_row(device.name, holdings.get(device.name, ""), _does(device, assignment), Text(reason, "yellow"))
    return table


def _peers(members: Sequence[MemberRow]) -> Table:
    table = Table(box=None, expand=True, header_style="dim")
    for heading in ("outside of rounds", "digits it sees", "accuracy on them", "does"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for member in members:
        accuracy = "" if member.accuracy is None else f"{member.accuracy:.1%}"
        table.add_row(member.name, member.sees, accuracy, Text(member.does, "cyan"))
    return table


def _does(device: DeviceRow, assignment: AssignmentRow | None) -> Text:
    if not device.present:
        return Text("away", "red")
    if assignment is None:
        return Text("rests", "dim")
    if assignment.state not in ("offered", "accepted"):
        return Text(assignment.state, STYLES.get(assignment.state, ""))
    stage = assignment.stage or assignment.state
    steps = f" {assignment.steps_done}/{assignment.steps_total}" if assignment.steps_total else ""
    return Text(stage + steps, STYLES.get(stage, ""))


def _rounds(rounds: Sequence[RoundRow], wanted: int) -> Table:
    table = Table(box=None, expand=True, header_style="dim")
    for heading in ("round", "state", "invited", "updates", "bytes", "accuracy", "why"):
        table.add_column(heading, no_wrap=True, overflow="ellipsis")
    for row in rounds:
        accuracy = row.metrics.get("accuracy")
        table.add_row(
            f"{row.number} of {wanted}",
            Text(row.state, STYLES.get(row.state, "")),
            str(len(row.assignments)),
            str(row.count("delivered")),
            size(sum(row.update_sizes)),
            "" if accuracy is None else f"{accuracy:.1%}",
            row.reason_sentence,
        )
    return table


def size(size_bytes: float) -> str:
    """Bytes for people."""
    return f"{size_bytes / 1000:.1f} kB" if size_bytes < 1e6 else f"{size_bytes / 1e6:.1f} MB"


def counted(number: int, noun: str) -> str:
    """A number of things for people."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
