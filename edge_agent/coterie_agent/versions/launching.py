"""Starts the installed release that is to run, and runs a new one on trial before it replaces the current one.

A new release runs as a child of the former, which waits until the platform has answered the child's check-in. Where
that does not happen in time, or the child crashes too often, the former continues. After a loss of power at any point
the next start continues from the state file.
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
"""Crashes of a release after which the former one is restored."""
_POLL_S = 0.2
_STOPS_WITHIN_S = 15.0
_SIGNALS = frozenset({signal.SIGTERM, signal.SIGINT})


def run_current(words: Sequence[str]) -> None:
    """Run the command line `words` in the current release, if that is another than this one.

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
        launcher.become_current()


@dataclass(frozen=True)
class Launcher:
    """Decides which release runs on a home."""

    home: Home
    arguments: Sequence[str]
    """The arguments of this process's command line."""

    def launch(self) -> None:
        """Return in a process of the release that is to run; any other replaces itself by that one, or supervises it.

        Raises OSError.
        """
        state = self._read()
        if state is None:
            return
        if state.candidate is not None:
            state = self._run_trial(state, state.candidate)
        elif state.current != self._versions.own():
            state = self._count_start(state)
        self._exec_current(state)

    def become_current(self) -> None:
        """As `launch`, for short commands: no trial is run. Raises OSError."""
        state = self._read()
        if state is not None:
            self._exec_current(state)

    def must_change(self) -> bool:
        """Whether another release than this one is to run, or to be tried."""
        state = self._versions.read()
        return state is not None and (state.candidate is not None or state.current != self._versions.own())

    def restart(self) -> NoReturn:
        """Restart in this process, by the current state file."""
        os.execv(sys.executable, [sys.executable, "-m", "coterie_agent", *self.arguments])  # noqa: S606  # no shell

    @property
    def _versions(self) -> Versions:
        return Versions(self.home.versions)

    def _read(self) -> VersionState | None:
        """The state; where the owner has installed another agent since, that one runs."""
        state = self._versions.read()
        if state is None or self._versions.own() or state.base.version == VERSION:
            return state
        log.info("the owner has installed agent %s: it runs, and no other", VERSION)
        state = VersionState(base=own_base(), ended=state.ended)
        self._versions.write(state)
        return state

    def _exec_current(self, state: VersionState) -> None:
        """Replace this process by the current release; return where it is that one."""
        if not self._versions.is_installed(state.current):
            log.error("agent %s is not on the disk any more; the owner's runs", state.current)
            state = msgspec.structs.replace(state, current="", former=None)
            self._versions.write(state)
        if state.current != self._versions.own():
            python = self._versions.python(state, state.current)
            os.execv(python, [python, "-m", "coterie_agent", *self.arguments])  # noqa: S606  # no shell

    def _count_start(self, state: VersionState) -> VersionState:
        """Count a start of the current release; after too many soon after its trial, return to the former one."""
        if state.former is None or time.time() > state.watched_until:
            return state
        if state.starts >= MAX_STARTS:
            reason = Reason("updates.crashed", f"agent {state.current} has ended by itself {state.starts} times")
            returned = return_to_former(self.home, state, reason)
            if returned is not None:
                self._versions.write(returned)
                return returned
        state = msgspec.structs.replace(state, starts=state.starts + 1)
        self._versions.write(state)
        return state

    def _run_trial(self, state: VersionState, candidate: Candidate) -> VersionState:
        """Run the candidate until its trial has succeeded or failed."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
        try:
            return self._supervise(state, candidate)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def _supervise(self, state: VersionState, candidate: Candidate) -> VersionState:
        versions = self._versions
        until = time.monotonic() + candidate.probation_s
        command = [versions.python(state, candidate.version), "-m", "coterie_agent", *self.arguments, ON_TRIAL]
        if candidate.starts == 0:
            _copy_store(self.home, versions)
        for starts in range(candidate.starts + 1, MAX_STARTS + 1):
            state = msgspec.structs.replace(state, candidate=msgspec.structs.replace(candidate, starts=starts))
            versions.confirmation.unlink(missing_ok=True)
            versions.write(state)
            try:
                child = subprocess.Popen(command, preexec_fn=_unblock_signals)  # no threads run yet
            except OSError as error:
                log.error("agent %s cannot be started: %s", candidate.version, error)
                continue
            log.info("agent %s is on trial", candidate.version)
            while child.poll() is None and not versions.confirmation.exists():
                if signal.sigtimedwait(_SIGNALS, _POLL_S) is not None:
                    sys.exit(_stop(child))
                if time.monotonic() > until:
                    _stop(child)
                    detail = f"agent {candidate.version} had no answer from the platform in {candidate.probation_s:g} s"
                    return self._roll_back(state, candidate, Reason("updates.not_confirmed", detail))
            if versions.confirmation.exists():
                _stop(child)
                return self._settle(state, candidate)
        detail = f"agent {candidate.version} ended by itself {MAX_STARTS} times before it had checked in"
        return self._roll_back(state, candidate, Reason("updates.crashed", detail))

    def _settle(self, state: VersionState, candidate: Candidate) -> VersionState:
        settled = msgspec.structs.replace(
            state,
            current=candidate.version,
            former=state.current,
            update=candidate.update,
            candidate=None,
            watched_until=time.time() + candidate.probation_s,
            starts=0,
            schema=_schema_of(self._versions.store_copy),
        ).with_ended(Ended(candidate.update, candidate.version, "installed", None, time.time()))
        self._versions.write(settled)
        self._versions.remove_store_copy()
        self._versions.keep_only({settled.current, settled.former or ""})
        return settled

    def _roll_back(self, state: VersionState, candidate: Candidate, reason: Reason) -> VersionState:
        log.error("%s; the former one goes on", reason.sentence)
        _restore_store(self.home, self._versions)
        ended = Ended(candidate.update, candidate.version, "rolled_back", reason, time.time())
        back = msgspec.structs.replace(state, candidate=None).with_ended(ended)
        self._versions.write(back)
        self._versions.keep_only({back.current, back.former or ""})
        return back


def return_to_former(home: Home, state: VersionState, reason: Reason) -> VersionState | None:
    """The state in which the former release runs; None: it cannot read the store that the current one has written."""
    versions = Versions(home.versions)
    if state.former is None or not versions.is_installed(state.former):
        return None
    if _schema_of(home.database) != state.schema:
        return None
    ended = Ended(state.update, state.current, "rolled_back", reason, time.time())
    return msgspec.structs.replace(
        state, current=state.former, former=None, update="", watched_until=0.0, starts=0
    ).with_ended(ended)


def note_stopped(home: Home) -> None:
    """Note that the current release was stopped, and has not crashed. Raises OSError."""
    versions = Versions(home.versions)
    state = versions.read()
    if state is not None and state.starts:
        versions.write(msgspec.structs.replace(state, starts=0))


def _unblock_signals() -> None:
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
    versions.remove_store_copy()
    with closing(sqlite3.connect(home.database)) as store, closing(sqlite3.connect(versions.store_copy)) as copy:
        store.backup(copy)


def _restore_store(home: Home, versions: Versions) -> None:
    """Restore the store's copy where a candidate has changed the schema, which the former release cannot read."""
    copy = versions.store_copy
    if copy.exists() and _schema_of(copy) != _schema_of(home.database):
        for suffix in ("-wal", "-shm"):
            home.database.with_name(home.database.name + suffix).unlink(missing_ok=True)
        copy.replace(home.database)
    versions.remove_store_copy()


def _schema_of(database: os.PathLike[str]) -> int | None:
    try:
        with closing(sqlite3.connect(f"file:{os.fspath(database)}?mode=ro", uri=True)) as connection:
            (version,) = connection.execute("PRAGMA user_version").fetchone()
            return int(version)
    except sqlite3.Error:
        return None
