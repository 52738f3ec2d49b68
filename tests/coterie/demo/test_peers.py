"""The story of the two that meet a new digit, with devices and a clock that do as they are told."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from coterie.demo.digits import Samples, deal
from coterie.demo.peers import (
    BATCH,
    BATCH_EVERY_S,
    FAMILIAR,
    LONGEST_BATCHES,
    LONGEST_WARM_UP_S,
    NEW,
    NEW_IN_A_BATCH,
    WARM_UP_BATCHES,
    Peers,
    make_stream,
    sentences_of,
)
from coterie.demo.report import Accuracy, Newcomer, PhoneShare, Recovery, Report, UpdateBytes
from coterie.demo.view import HelpRow, TransferRow

AT = datetime(2026, 1, 1, tzinfo=UTC)
ASKED = HelpRow("r", "newcomer", (NEW,), "asked", "", AT)
SERVING = TransferRow("neighbour", "requested", "", 0, None, None, None)
DELIVERED = TransferRow("neighbour", "delivered", "", 13_905, None, None, AT)
KEPT = TransferRow("neighbour", "kept", "", 13_905, 0.6, 0.85, AT)
UNDONE = TransferRow("neighbour", "undone", "", 13_905, 0.6, 0.6, AT)
SILENT = TransferRow("stranger", "expired", "it went away", 0, None, None, None)


def request(state: str, *transfers: TransferRow) -> HelpRow:
    return HelpRow("r", "newcomer", (NEW,), state, "nobody knows it", AT, transfers)


@dataclass
class Scripted:
    """A device whose accuracy on everything that it meets depends on the batches that it was given."""

    name: str
    learns: list[float] = field(default_factory=list)
    judged: int = WARM_UP_BATCHES
    met: list[Samples] = field(default_factory=list)

    def batches_judged(self) -> int:
        return self.judged

    def meet(self, samples: Samples) -> None:
        self.met.append(samples)

    def accuracy(self, samples: Samples) -> float:
        if NEW not in samples.y:
            return 0.95
        return self.learns[min(len(self.met), len(self.learns) - 1)]


class Stage:
    """The story, a clock that stands until it is moved, and what was said."""

    def __init__(self, helped: list[float], alone: list[float]) -> None:
        self.now_s, self.requests, self.said = 0.0, list[HelpRow](), list[str]()
        self.helped, self.alone = Scripted("newcomer", helped), Scripted("loner", alone)
        digits = deal(devices=1, seed=0)
        self.peers = Peers(
            helped=self.helped,
            alone=self.alone,
            helpers=[Scripted("neighbour"), Scripted("stranger")],
            stream=make_stream(digits.devices[0], np.random.default_rng(0)),
            held_out=digits.held_out,
            look=lambda: self.requests,
            say=self.said.append,
            clock=lambda: self.now_s,
        )

    def play(self, *, batches: int) -> None:
        for _ in range(batches):
            self.peers.step()
            self.now_s += BATCH_EVERY_S


def test_both_are_given_the_same_until_both_have_recovered() -> None:
    stage = Stage([0.7, 0.7, 0.7, 0.91], [0.7, 0.72, 0.75, 0.78, 0.85, 0.9])
    stage.play(batches=20)
    outcome = stage.peers.outcome()
    assert stage.peers.is_over
    assert outcome.helped == Recovery(batches=3, seconds=3 * BATCH_EVERY_S)
    assert outcome.alone == Recovery(batches=5, seconds=5 * BATCH_EVERY_S)
    assert len(stage.helped.met) == len(stage.alone.met) == outcome.waited_batches == 5
    for given, same in zip(stage.helped.met, stage.alone.met, strict=True):
        assert given is same
        assert len(given.y) == BATCH
        assert (given.y == NEW).sum() == NEW_IN_A_BATCH
        assert set(given.y.tolist()) <= {*FAMILIAR, NEW}
    assert stage.said == [
        "newcomer and loner meet a 6, which neither has ever seen",
        "newcomer is as good as before after 3 batches, 4 s",
        "loner is as good as before after 5 batches, 8 s",
    ]


def test_a_device_that_recovers_no_sooner_is_told_of_as_it_is() -> None:
    stage = Stage([0.7], [0.7, 0.9])
    stage.play(batches=LONGEST_BATCHES + 2)
    outcome = stage.peers.outcome()
    assert stage.peers.is_over
    assert (outcome.helped, outcome.alone) == (None, Recovery(1, BATCH_EVERY_S))
    assert (outcome.helper, outcome.portion_bytes) == (None, None)
    assert outcome.took(outcome.helped) == f"not within {LONGEST_BATCHES} batches"


def test_it_begins_once_all_have_learned_and_nobody_waits_for_help() -> None:
    stage = Stage([0.7], [0.7])
    stage.helped.judged = WARM_UP_BATCHES - 1
    stage.play(batches=2)
    stage.helped.judged, stage.requests = WARM_UP_BATCHES, [request("asked")]
    stage.play(batches=2)
    assert not stage.said
    stage.requests = [request("unmatched")]
    stage.play(batches=2)
    assert stage.said == ["newcomer and loner meet a 6, which neither has ever seen"], "what was before is no part"


def test_nobody_waits_for_ever_for_it_to_begin() -> None:
    stage = Stage([0.7], [0.7])
    stage.helped.judged = 0
    stage.play(batches=1)
    assert not stage.peers.is_over
    stage.now_s += LONGEST_WARM_UP_S
    assert stage.peers.is_over
    assert stage.peers.outcome().waited_batches == 0


def test_what_becomes_of_the_request_is_told_once_and_awaited() -> None:
    stage = Stage([0.7, 0.95], [0.95])
    stage.play(batches=1)
    for row in (request("asked"), request("requested", SERVING), request("delivered", DELIVERED)):
        stage.requests = [row]
        stage.play(batches=1)
        assert not stage.peers.is_over
    stage.requests = [request("judged", KEPT)]
    stage.play(batches=1)
    assert stage.peers.is_over
    assert (stage.peers.outcome().helper, stage.peers.outcome().portion_bytes) == ("neighbour", 13_905)
    told = [sentence for sentence in stage.said if "before after" not in sentence]
    assert told[1:] == list(sentences_of(request("judged", KEPT)))
    assert [row.name for row in stage.peers.rows()] == ["newcomer", "loner", "neighbour", "stranger"]


@pytest.mark.parametrize(
    ("row", "last"),
    [
        (request("asked"), "newcomer fails on 6 and asks for help"),
        (request("requested", SERVING), "neighbour has the most similar data of those that know 6, and is asked"),
        (request("delivered", DELIVERED), "neighbour has sent a portion of its model: 13.9 kB"),
        (
            request("judged", KEPT),
            "newcomer has merged it and keeps it; right on its newest samples: 60% before, 85% with it",
        ),
        (
            request("judged", UNDONE),
            "newcomer has merged it and undoes it; right on its newest samples: 60% before, 60% with it",
        ),
        (request("asked", SILENT), "stranger did not help: it went away"),
        (request("unmatched", SILENT), "newcomer was not helped: nobody knows it"),
    ],
)
def test_each_state_of_a_request_has_its_sentence(row: HelpRow, last: str) -> None:
    assert list(sentences_of(row))[-1] == last


def test_the_table_tells_both() -> None:
    newcomer = Newcomer(NEW, Recovery(3, 4.5), Recovery(11, 16.5), "neighbour", 13_905, 11)
    report = Report(
        accuracy=Accuracy(0.7, 0.8, 0.9, 0.95),
        update_bytes=UpdateBytes(1, 2),
        newcomer=newcomer,
        phone=PhoneShare(invited=9, counted=8),
        rounds_published=10,
        dropouts=0,
        seconds=60,
    )
    console = Console(width=100, record=True, file=StringIO())
    console.print(report.table())
    lines = [line.split() for line in console.export_text().splitlines()]
    assert ["with", "13.9", "kB", "from", "neighbour", "3", "batches,", "4", "s"] in lines
    assert ["updates", "from", "the", "phone's", "browser", "8", "of", "9", "rounds"] in lines
    assert ["alone", "11", "batches,", "16", "s"] in lines
