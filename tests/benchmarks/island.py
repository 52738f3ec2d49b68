"""An island of three processes whose leader is killed again and again: how soon another leads, and what is lost."""

import queue
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from coterie_agent.home import Home
from coterie_agent.island.raft import Saved
from coterie_agent.store.database import Database
from coterie_wire.structs import from_json
from tests.benchmarks.report import Figure
from tests.coterie_agent.island.supernodes import NAMES
from tests.free_ports import free_port
from tests.system.processes import ROOT, environment

PATIENCE_S = 30.0


class Said(NamedTuple):
    """A line of a voter, and when it came."""

    voter: str
    words: list[str]
    at: float


class Voters:
    """The processes, and what they have said."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ports = folder, [str(free_port()) for _ in NAMES]
        self.heard: queue.Queue[Said] = queue.Queue()
        self.leaders: dict[int, set[str]] = {}
        self.held: dict[str, str] = {}
        """By assignment, the hash of the newest update that was agreed on."""
        self.processes: dict[str, subprocess.Popen[str]] = {}
        for name in NAMES:
            self.start(name)

    def start(self, name: str) -> None:
        command = [sys.executable, "-m", "tests.benchmarks.processes.voter", str(self.folder), name, *self.ports]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, env=environment(), cwd=ROOT, text=True)
        self.processes[name] = process
        threading.Thread(target=self._listen, args=(name, process), daemon=True).start()

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def next(self, until: float) -> Said:
        """What is said next; kept for the account. Raises queue.Empty."""
        said = self.heard.get(timeout=max(0.01, until - time.monotonic()))
        match said.words:
            case ["leads", term]:
                self.leaders.setdefault(int(term), set()).add(said.voter)
            case ["holds", assignment, sha256]:
                self.held[assignment] = sha256
        return said

    def wait_for(self, word: str, *, of: set[str], since: float) -> Said:
        while True:
            said = self.next(since + PATIENCE_S)
            if said.words[0] == word and said.voter in of and said.at >= since:
                return said

    def lost(self) -> int:
        """Agreed holdings that no majority has on the disk."""
        logs = []
        for name in NAMES:
            database = Database(Home(self.folder / name).database)
            with database.reading() as cursor:
                (state,) = cursor.execute("SELECT state FROM island").fetchone()
            database.close()
            saved = from_json(state, Saved)
            logs.append({key: one.sha256 for key, one in saved.holdings(saved.last_index).items()})
        newest = {key: sorted(log.get(key, "") for log in logs) for key in self.held}
        return sum(newest[key][1] < sha256 for key, sha256 in self.held.items())

    def _listen(self, name: str, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        for line in process.stdout:
            self.heard.put(Said(name, line.split(), time.monotonic()))


def measure_island(kills: int, *, seed: int = 0) -> Iterator[Figure]:
    """Kill the leader so often, at a random moment, and start it again once another leads."""
    rng, took = random.Random(seed), []
    with tempfile.TemporaryDirectory() as folder:
        voters = Voters(Path(folder))
        try:
            leader = voters.wait_for("leads", of=set(NAMES), since=time.monotonic()).voter
            for _ in range(kills):
                time.sleep(rng.uniform(0, 0.5))
                voters.kill(leader)
                killed_at, before = time.monotonic(), leader
                said = voters.wait_for("leads", of=set(NAMES) - {before}, since=killed_at)
                took.append(said.at - killed_at)
                leader = said.voter
                voters.start(before)
                voters.wait_for("follows", of={before}, since=time.monotonic())
        finally:
            for name in NAMES:
                voters.kill(name)
        took.sort()
        name = f"3 processes on one host, their leader killed {kills} times"
        yield Figure(name, "until another leads, median", took[len(took) // 2], "s", "target <= 2 s")
        yield Figure(name, "until another leads, 95 %", took[int(0.95 * (len(took) - 1))], "s", "target <= 2 s")
        yield Figure(name, "until another leads, at most", took[-1], "s", "target <= 2 s")
        twice = sum(len(leaders) > 1 for leaders in voters.leaders.values())
        yield Figure(name, "terms with two leaders", float(twice), f"of {len(voters.leaders)}", "target 0")
        yield Figure(name, "agreed holdings that were lost", float(voters.lost()), f"of {len(voters.held)}", "target 0")
