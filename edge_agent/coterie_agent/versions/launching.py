"""Hands the process over to the installed agent that is to run, and tries a new one before it takes its place.

A new one runs as a child of the former, which waits until the platform has answered the child's check-in. Where that
does not happen in time, or the child ends by itself too often, the former goes on. After a loss of power anywhere the
next start goes on from what the file says.
"""

import argparse
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import msgspec

from coterie_agent import VERSION
from coterie_agent.errors import Exit
from coterie_agent.home import DEFAULT_HOME, Home
from coterie_agent.versions.state import Candidate, Ended, Versions, VersionState, own_base
from coterie_wire.conditions import Reason

log = logging.getLogger(__name__)
ON_TRIAL = "--on-trial"
MAX_STARTS = 3
"""An agent that has ended by itself so often is gone back from."""
_LOOK_EVERY_S = 0.2
_STOPS_WITHIN_S = 15.0
_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


def hand_over(words: Sequence[str]) -> None:
    """Let the installed agent that is the current one do what `words` of the command line ask, if that is not this one.

    Raises OSError.
    """
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("--home", type=Path, default=DEFAULT_HOME)
    known, rest = parser.parse_known_args(list(words))
    if ON_TRIAL in rest:
        return
    launcher = Launcher(Home(known.home.expanduser().absolute()), words)
    if any(word in rest[:1] for word in ("run", "relay")):
        launcher.launch()
    else:
        launcher.hand_over()


@dataclass(frozen=True)
class Launcher:
    """Decides who runs on a home."""

    home: Home
    arguments: Sequence[str]
    """Those of this process's command line."""

    def launch(self) -> None:
        """Return in the process of the agent that is to run; in any other, become or watch that one, and never return.

        Raises OSError.
        """
        standing = self._read()
        if standing is None:
            return
        if standing.candidate is not None:
            standing = self._try(standing, standing.candidate)
        elif standing.current != self._versions.own():
            standing = self._count_start(standing)
        self._become(standing)

    def hand_over(self) -> None:
        """As `launch`, for what is over soon: nobody is tried. Raises OSError."""
        standing = self._read()
        if standing is not None:
            self._become(standing)

    def is_to_change(self) -> bool:
        """Whether another agent than this one is to be tried, or to run."""
        standing = self._versions.read()
        return standing is not None and (standing.candidate is not None or standing.current != self._versions.own())

    def restart(self) -> NoReturn:
        """Begin anew in this process, with whatever the file says by now."""
        os.execv(sys.executable, [sys.executable, "-m", "coterie_agent", *self.arguments])  # noqa: S606  # no shell

    @property
    def _versions(self) -> Versions:
        return Versions(self.home.versions)

    def _read(self) -> VersionState | None:
        """What the file says; an agent that the owner has installed since has the last word."""
        standing = self._versions.read()
        if standing is None or self._versions.own() or standing.base.version == VERSION:
            return standing
        log.info("the owner has installed agent %s: it runs, and no other", VERSION)
        standing = VersionState(base=own_base(), ended=standing.ended)
        self._versions.write(standing)
        return standing

    def _become(self, standing: VersionState) -> None:
        """Return where this process is the current agent."""
        if not self._versions.is_installed(standing.current):
            log.error("agent %s is not on the disk any more; the owner's runs", standing.current)
            standing = msgspec.structs.replace(standing, current="", former=None)
            self._versions.write(standing)
        if standing.current != self._versions.own():
            python = self._versions.python(standing, standing.current)
            os.execv(python, [python, "-m", "coterie_agent", *self.arguments])  # noqa: S606  # no shell

    def _count_start(self, standing: VersionState) -> VersionState:
        """One more start of the current agent; too many in its first time, and it is gone back from."""
        if standing.former is None or time.time() > standing.watched_until:
            return standing
        if standing.starts >= MAX_STARTS:
            reason = Reason("updates.crashed", f"agent {standing.current} has ended by itself {standing.starts} times")
            went_back = return_to_former(self.home, standing, reason)
            if went_back is not None:
                self._versions.write(went_back)
                return went_back
        standing = msgspec.structs.replace(standing, starts=standing.starts + 1)
        self._versions.write(standing)
        return standing

    def _try(self, standing: VersionState, candidate: Candidate) -> VersionState:
        """Run the candidate until it has shown that it works, or that it does not."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            return self._watch(standing, candidate)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _watch(self, standing: VersionState, candidate: Candidate) -> VersionState:
        versions = self._versions
        until = time.monotonic() + candidate.probation_s
        command = [versions.python(standing, candidate.version), "-m", "coterie_agent", *self.arguments, ON_TRIAL]
        if candidate.starts == 0:
            _copy_store(self.home, versions)
        for starts in range(candidate.starts + 1, MAX_STARTS + 1):
            standing = msgspec.structs.replace(standing, candidate=msgspec.structs.replace(candidate, starts=starts))
            versions.confirmation.unlink(missing_ok=True)
            versions.write(standing)
            try:
                child = subprocess.Popen(command, preexec_fn=_hear_signals)  # no threads run yet
            except OSError as error:
                log.error("agent %s cannot be started: %s", candidate.version, error)
                continue
            log.info("agent %s is on trial", candidate.version)
            while child.poll() is None and not versions.confirmation.exists():
                if signal.sigtimedwait(_SIGNALS, _LOOK_EVERY_S) is not None:
                    sys.exit(_stop(child))
                if time.monotonic() > until:
                    _stop(child)
                    detail = f"agent {candidate.version} had no answer from the platform in {candidate.probation_s:g} s"
                    return self._roll_back(standing, candidate, Reason("updates.not_confirmed", detail))
            if versions.confirmation.exists():
                _stop(child)
                return self._settle(standing, candidate)
        detail = f"agent {candidate.version} ended by itself {MAX_STARTS} times before it had checked in"
        return self._roll_back(standing, candidate, Reason("updates.crashed", detail))

    def _settle(self, standing: VersionState, candidate: Candidate) -> VersionState:
        settled = msgspec.structs.replace(
            standing,
            current=candidate.version,
            former=standing.current,
            update=candidate.update,
            candidate=None,
            watched_until=time.time() + candidate.probation_s,
            starts=0,
            schema=_schema_of(self._versions.store_copy),
        ).with_ended(Ended(candidate.update, candidate.version, "installed", None, time.time()))
        self._versions.write(settled)
        self._versions.store_copy.unlink(missing_ok=True)
        self._versions.keep_only({settled.current, settled.former or ""})
        return settled

    def _roll_back(self, standing: VersionState, candidate: Candidate, reason: Reason) -> VersionState:
        log.error("%s; the former one goes on", reason.sentence)
        _restore_store(self.home, self._versions)
        ended = Ended(candidate.update, candidate.version, "rolled_back", reason, time.time())
        back = msgspec.structs.replace(standing, candidate=None).with_ended(ended)
        self._versions.write(back)
        self._versions.keep_only({back.current, back.former or ""})
        return back


def return_to_former(home: Home, standing: VersionState, reason: Reason) -> VersionState | None:
    """What the file is to say for the former agent to run; None: it cannot read what the current one has written."""
    versions = Versions(home.versions)
    if standing.former is None or not versions.is_installed(standing.former):
        return None
    if _schema_of(home.database) != standing.schema:
        return None
    ended = Ended(standing.update, standing.current, "rolled_back", reason, time.time())
    return msgspec.structs.replace(
        standing, current=standing.former, former=None, update="", watched_until=0.0, starts=0
    ).with_ended(ended)


def stopped_well(home: Home) -> None:
    """The current agent was stopped and did not end by itself. Raises OSError."""
    versions = Versions(home.versions)
    standing = versions.read()
    if standing is not None and standing.starts:
        versions.write(msgspec.structs.replace(standing, starts=0))


def _hear_signals() -> None:
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)


def _stop(child: "subprocess.Popen[bytes]") -> int:
    with suppress(ProcessLookupError):
        child.send_signal(signal.SIGTERM)
    try:
        return child.wait(_STOPS_WITHIN_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return Exit.FAILED


def _copy_store(home: Home, versions: Versions) -> None:
    versions.store_copy.unlink(missing_ok=True)
    with closing(sqlite3.connect(home.database)) as store, closing(sqlite3.connect(versions.store_copy)) as copy:
        store.backup(copy)


def _restore_store(home: Home, versions: Versions) -> None:
    """Where a candidate has brought the store to a schema that the former agent does not read."""
    copy = versions.store_copy
    if copy.exists() and _schema_of(copy) != _schema_of(home.database):
        for suffix in ("-wal", "-shm"):
            home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
        copy.replace(home.database)
    copy.unlink(missing_ok=True)


def _schema_of(database: os.PathLike[str]) -> int | None:
    try:
        with closing(sqlite3.connect(f"file:{os.fspath(database)}?mode=ro", uri=True)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return int(version)
    except sqlite3.Error:
        return None
