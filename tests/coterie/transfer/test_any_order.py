"""Whatever happens in whatever order: every request comes to one end, and a portion is judged by who asked for it."""

from datetime import timedelta

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from coterie.core.errors import CoterieError
from coterie.fleet.services import leave_fleet
from coterie.transfer import neighbourhood
from coterie.transfer.advancing import sweep
from coterie.transfer.models import HelpRequest, Transfer
from coterie.transfer.transitions import STEPS, State
from coterie_wire.errors import WireError
from tests.coterie.transfer.peers import FAILS_2, KNOWS_2, Member, make_peers, portion
from tests.coterie.world import START
from tests.examples import examples

MEMBERS = 4
HARMLESS = {"transfer.ended", "transfer.not_delivered", "transfer.unknown"}
ACTS = ("look", "serve", "fetch", "merge", "judge", "undo", "decline", "ask", "spoil", "drift")
# More of what brings a request forward than of what disturbs it, or none would ever be judged.
FORWARD = st.tuples(st.just("go_on"), st.integers(0, MEMBERS - 1))
EVENTS = st.lists(
    st.one_of(
        FORWARD,
        FORWARD,
        FORWARD,
        st.tuples(st.sampled_from(("sweep", "sweep", "ask")), st.integers(0, MEMBERS - 1)),
        st.tuples(st.sampled_from(ACTS), st.integers(0, MEMBERS - 1)),
        st.tuples(st.sampled_from(("sweep", "wait", "leave", "restart")), st.integers(0, MEMBERS - 1)),
    ),
    min_size=30,
    max_size=60,
)


class Story:
    """A peers under way, and what its members were told."""

    def __init__(self) -> None:
        make_peers(match_s=6.0, deliver_s=12.0, judge_s=20.0)
        self.members = [Member(f"member-{number}") for number in range(MEMBERS)]
        self.serves: dict[int, str] = {}
        self.portions: dict[int, str] = {}
        self.now = START
        self.asked = 0

    def happen(self, event: str, number: int) -> None:
        self.now += timedelta(seconds=0.5)
        try:
            getattr(self, f"_{event}")(number)
        except CoterieError as error:
            assert error.code in HARMLESS | {"fleet.left", "transfer.not_a_member"}, error.code

    def _look(self, number: int) -> None:
        directive = self.members[number].check_in(self.now)
        if directive.serve:
            self.serves[number] = directive.serve.transfer
        if directive.help and directive.help.portion:
            self.portions[number] = directive.help.portion.transfer

    def _go_on(self, number: int) -> None:
        """The member does the next thing that is due for it."""
        self._look(number)
        serve, mine = self.serves.pop(number, None), self.portions.get(number)
        if serve is not None:
            self.members[number].serve(serve, self.now)
        elif mine is not None and self.now.microsecond:
            self.members[number].merged(mine, self.now)
        elif mine is not None:
            self.members[number].judge(self.portions.pop(number), self.now, kept=number % 2 == 0)

    def _ask(self, number: int) -> None:
        self.asked += 1
        self._look(number)
        self.members[number].ask(self.asked, self.now)

    def _serve(self, number: int) -> None:
        if number in self.serves:
            self.members[number].serve(self.serves[number], self.now)

    def _spoil(self, number: int) -> None:
        if number in self.serves:
            try:
                self.members[number].serve(self.serves[number], self.now, portion()[:-3])
            except WireError as error:
                assert error.code == "update.malformed"

    def _fetch(self, number: int) -> None:
        if number in self.portions:
            assert self.members[number].fetch(self.portions[number]) == portion()

    def _merge(self, number: int) -> None:
        if number in self.portions:
            self.members[number].merged(self.portions[number], self.now)

    def _judge(self, number: int) -> None:
        if number in self.portions:
            self.members[number].judge(self.portions[number], self.now)

    def _undo(self, number: int) -> None:
        if number in self.portions:
            self.members[number].judge(self.portions[number], self.now, kept=False)

    def _decline(self, number: int) -> None:
        for told in (self.serves, self.portions):
            if number in told:
                self.members[number].decline(told[number], self.now)

    def _drift(self, number: int) -> None:
        self.members[number].tell(FAILS_2 if number % 2 else KNOWS_2, self.now)

    def _sweep(self, _number: int) -> None:
        sweep(now=self.now)

    def _wait(self, number: int) -> None:
        self.now += timedelta(seconds=3 * number)

    def _leave(self, number: int) -> None:
        if number == MEMBERS - 1:
            leave_fleet(device=self.members[number].row, now=self.now)

    def _restart(self, _number: int) -> None:
        """A process that forgot its index finds the same neighbours in the database."""
        neighbourhood.clear_indexes()


@pytest.mark.django_db
@settings(max_examples=examples(4, 12), deadline=None)
@given(events=EVENTS)
def test_every_request_ends_once(events: list[tuple[str, int]]) -> None:
    with transaction.atomic():
        story = Story()
        for number in range(MEMBERS):
            story.happen("look", number)
            story.members[number].tell(KNOWS_2, story.now)
        story.happen("ask", 0)
        for event in events:
            story.happen(*event)
        check_under_way()
        for _ in range(12):  # nobody says anything any more
            story.now += timedelta(seconds=7)
            sweep(now=story.now)
        check_ended()
        transaction.set_rollback(True)


def check_under_way() -> None:
    for request in HelpRequest.objects.filter(state__in=HelpRequest.LIVE):
        live = list(request.transfers.filter(state__in=Transfer.LIVE).values_list("state", flat=True))
        assert live == ([] if request.state == "asked" else [request.state])


def check_ended() -> None:
    assert not HelpRequest.objects.filter(state__in=HelpRequest.LIVE).exists()
    assert not Transfer.objects.filter(state__in=Transfer.LIVE).exists()
    assert not HelpRequest.objects.filter(finished_at=None).exists()
    for request in HelpRequest.objects.all():
        judged = request.transfers.filter(state__in=["kept", "undone"]).count()
        assert judged == (1 if request.state == "judged" else 0)
        assert request.transfers.count() <= request.rules().neighbours_tried
        assert not request.transfers.filter(helper=request.device).exists()
        assert request.reason() is not None


def test_every_state_is_left_or_is_an_end() -> None:
    assert set(STEPS.ways) | {State.JUDGED, State.UNMATCHED, State.ABANDONED} == set(State)
