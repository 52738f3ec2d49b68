"""What `coterie up` tells: lines for people, or one JSON object a line for programs."""

import sys
from typing import Literal

import msgspec


class Announcement(msgspec.Struct, frozen=True, tag_field="event"):
    """One line of ``coterie up --json``."""


class FirstOperator(Announcement, frozen=True, tag="operator"):
    """Who may sign in. The password is shown once, and to a person at a terminal alone: logs keep what they get."""

    name: str
    password: str = ""
    password_file: str = ""
    """Where the password stands instead; the platform removes the file when it starts after somebody has signed in."""

    def __str__(self) -> str:
        if self.password:
            return f"First operator: {self.name}   password: {self.password}   (shown this once)"
        return f"First operator: {self.name}   password in {self.password_file}   (remove it when you have read it)"


class Ready(Announcement, frozen=True, tag="ready"):
    """The platform answers at `url`; also after each restart of the server."""

    url: str
    state: str
    supervisor_pid: int
    server_pid: int

    def __str__(self) -> str:
        return f"Coterie is ready at {self.url}   (state in {self.state}; Ctrl-C stops it)"


class Restarting(Announcement, frozen=True, tag="restarting"):
    """The server ended by itself with `status`, negative for a signal; another one starts."""

    status: int
    after_s: float

    def __str__(self) -> str:
        return f"The server ended with status {self.status}; starting it again in {self.after_s:g} s."


class GaveUp(Announcement, frozen=True, tag="gave_up"):
    """The server ended `times` times in a row before it was ready, or said that it would do no better again."""

    status: int
    times: int

    def __str__(self) -> str:
        times = "once" if self.times == 1 else f"{self.times} times"
        return f"The server ended {times} before it was ready, last with status {self.status}; giving up."


class Stopped(Announcement, frozen=True, tag="stopped"):
    """Everything has ended as it was asked to."""

    def __str__(self) -> str:
        return "Coterie has stopped."


Line = FirstOperator | Ready | Restarting | GaveUp | Stopped
Style = Literal["text", "json"]


def announce(what: Announcement, style: Style) -> None:
    """Write one line to standard output at once."""
    line = msgspec.json.encode(what).decode() if style == "json" else str(what)
    sys.stdout.write(line + "\n")
    sys.stdout.flush()
