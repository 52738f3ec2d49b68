"""Plays the demo's script while rounds go by: devices leave and come back, one is killed, and each round is told."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from statistics import mean

from coterie.demo.api import POLL_S
from coterie.demo.devices import GOOD, METERED, ON_BATTERY, DemoDevice
from coterie.demo.peers import Peers
from coterie.demo.screen import Screen, counted, size
from coterie.demo.script import ScriptedEvent, draw_script
from coterie.demo.view import RoundRow, View

AWAY_S = 1.5
"""How long the killed device stays ended."""


@dataclass
class ScriptPlayer:
    """Plays the script while the rounds go by, and from halfway what the peers do."""

    screen: Screen
    rounds: int
    seed: int
    fleet: Sequence[DemoDevice]
    peers: "Future[Peers] | None" = None
    """None: no devices learn outside of rounds."""
    _script: list[ScriptedEvent] = field(init=False)
    _round: int = 0
    _shown: set[int] = field(default_factory=set)
    _killed: DemoDevice | None = None
    _killed_until: float | None = None

    def __post_init__(self) -> None:
        self._script = list(draw_script(devices=len(self.fleet), rounds=self.rounds, seed=self.seed))

    def follow(self, look: Callable[[], View]) -> View:
        """Until the federation has had its rounds and the peers are done; the last view."""
        while True:
            view = look()
            peers = self.peers.result() if self.peers is not None and self.peers.done() else None
            self.screen.show(view, () if peers is None else peers.rows())
            self._report(view)
            if view.is_finished and (self.peers is None or (peers is not None and peers.is_over)):
                return view
            self._disturb(view)
            if peers is not None and self._is_halfway(view):
                peers.step()
            time.sleep(POLL_S)

    def _report(self, view: View) -> None:
        for row in view.rounds:
            if row.is_over and row.id not in self._shown:
                self._shown.add(row.id)
                self.screen.say(sentence_of(row))

    def _disturb(self, view: View) -> None:
        if view.current is None:
            return
        if self._killed_until is not None and time.monotonic() >= self._killed_until:
            assert self._killed is not None
            self._killed.start()
            self.screen.say(f"{self._killed.name} is back and goes on where it was")
            self._killed = self._killed_until = None
        if view.current.state == "open" and view.current.number > self._round:
            self._round = view.current.number
            self._apply_due()
        if self._killed is not None and self._killed_until is None:
            self._kill_in_training(view)

    def _is_halfway(self, view: View) -> bool:
        return view.current is not None and 2 * view.current.number >= self.rounds

    def _apply_due(self) -> None:
        """What the script has for this round, and for those that went by between two looks."""
        while self._script and self._script[0].round <= self._round:
            event = self._script.pop(0)
            device = self.fleet[event.device]
            if event.event == "killed":
                self._killed = device
                continue
            device.set_conditions({"unplugged": ON_BATTERY, "left Wi-Fi": METERED, "came back": GOOD}[event.event])
            self.screen.say(f"{device.name} {event.event}")

    def _kill_in_training(self, view: View) -> None:
        """Whoever trains serves: the chosen device may not have been invited."""
        assert view.current is not None
        training = {row.device_name for row in view.current.assignments if row.stage == "training"}
        live = [device for device in self.fleet if device.name in training]
        if live:
            self._killed = self._killed if self._killed in live else live[0]
            self._killed.kill()
            self._killed_until = time.monotonic() + AWAY_S
            self.screen.say(f"{self._killed.name} was killed in mid-training")


def sentence_of(row: RoundRow) -> str:
    """What became of a round that is over."""
    if row.state == "abandoned":
        return f"Round {row.number} was abandoned: {row.reason_sentence}"
    accuracy = row.metrics.get("accuracy")
    found = f"loss {row.metrics['loss']:.3f}" if accuracy is None else f"{accuracy:.1%}"
    sizes = row.update_sizes
    missing = row.count("released", "dropped", "rejected")
    without = f", {missing} did not deliver" if missing else ""
    return f"Round {row.number}: {found} with {counted(len(sizes), 'update')} of {size(mean(sizes))}{without}"
