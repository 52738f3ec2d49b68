"""A help request from asking to its end, and everything that can go wrong on the way."""

from datetime import datetime

import pytest

from coterie.core.errors import CoterieError
from coterie.federations.services import change_plan, finish_federation
from coterie.fleet.services import leave_fleet, revoke_device
from coterie.transfer.advancing import sweep
from coterie.transfer.asking import withdraw_help
from coterie.transfer.files import portion_of
from coterie.transfer.models import DeviceProfile, HelpRequest, Transfer
from coterie_wire.conditions import Reason
from coterie_wire.helping import Profile
from tests.coterie.transfer.peers import FAILS_2, KNOWS_2, Member, make_peers, portion
from tests.coterie.world import later

pytestmark = pytest.mark.django_db


@pytest.fixture
def members() -> list[Member]:
    """One that will ask, and three that know class 2, the first the best; all are there and have told."""
    make_peers()
    made = [Member(f"member-{number}") for number in range(4)]
    for number, member in enumerate(made):
        member.digest = member.check_in(later(0)).standing.digest
        if number:
            near = Profile(batch=5, classes=(0, 2), counts=(10, 5 + number), hits=(9, 5))
            member.tell(near, later(0))
    return made


def stands(state: str, reason: str) -> HelpRequest:
    request = HelpRequest.objects.get()
    assert (request.state, request.reason_code) == (state, reason)
    return request


def all_check_in(members: list[Member], now: datetime) -> list[str | None]:
    """The transfer that each is to serve."""
    return [serve.transfer if (serve := member.check_in(now).serve) else None for member in members]


def code_of(act: object) -> str:
    with pytest.raises(CoterieError) as caught:
        act()
    return caught.value.code


def test_the_whole_way(members: list[Member]) -> None:
    target, helper, *_ = members
    assert target.ask(1, later(1)).state == "asked"
    assert sweep(now=later(1)) == 0.0, "it has moments of its own"
    stands("matched", "transfer.telling")
    serve = helper.check_in(later(2)).serve
    stands("requested", "transfer.serving")
    assert (serve.classes, serve.digest) == ((2,), helper.digest)
    assert 0 < serve.remaining_s <= 30
    assert target.check_in(later(2)).help.portion is None
    assert helper.serve(serve.transfer, later(3)).accepted
    stands("delivered", "transfer.fetching")
    news = target.check_in(later(4)).help
    assert (news.state, news.portion.transfer) == ("delivered", serve.transfer)
    assert target.fetch(serve.transfer) == portion()
    target.merged(serve.transfer, later(5))
    assert stands("merged", "transfer.judging").finished_at is None
    target.judge(serve.transfer, later(6))
    request = stands("judged", "transfer.kept")
    assert (request.reason_sentence, request.finished_at) == (
        "kept: accuracy 60.0% without the help, 90.0% with it",
        later(6),
    )
    transfer = Transfer.objects.get()
    assert (transfer.state, transfer.accuracy_before, transfer.accuracy_after, transfer.judged_samples) == (
        *("kept", 0.6, 0.9, 32),
    )
    assert target.check_in(later(7)).help.state == "judged"
    assert helper.check_in(later(7)).serve is None


def test_the_portion_is_gone_once_it_is_judged(
    members: list[Member], django_capture_on_commit_callbacks: pytest.FixtureRequest
) -> None:
    target, helper, *_ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    helper.serve(transfer, later(3))
    kept = Transfer.objects.get()
    with portion_of(kept.pk).open(kept.sha256) as file:
        assert file.read() == portion()
    with django_capture_on_commit_callbacks(execute=True):
        target.judge(transfer, later(4))
    with pytest.raises(FileNotFoundError):
        portion_of(kept.pk).open(kept.sha256)
    assert code_of(lambda: target.fetch(transfer)) == "transfer.ended"


def test_everything_may_be_said_twice(members: list[Member]) -> None:
    target, helper, *_ = members
    for _ in range(2):
        target.ask(1, later(1))
    sweep(now=later(1))
    for _ in range(2):
        transfer = helper.check_in(later(2)).serve.transfer
    for _ in range(2):
        assert helper.serve(transfer, later(3)).accepted
    for say in (target.merged, target.merged, target.judge, target.merged, target.judge):
        say(transfer, later(4))
    assert helper.serve(transfer, later(5)).accepted
    stands("judged", "transfer.kept")
    assert Transfer.objects.count() == 1


def test_a_silent_helper_makes_room_for_the_next(members: list[Member]) -> None:
    target, helper, second, third = members
    target.ask(1, later(1))
    sweep(now=later(1))
    first = helper.check_in(later(2)).serve.transfer
    for seconds in range(2, 14, 2):  # the helper checks in no more, the others do
        for member in (target, second, third):
            member.check_in(later(seconds))
        sweep(now=later(seconds))
    request = stands("requested", "transfer.serving")
    states = {transfer.helper.name: (transfer.state, transfer.reason_code) for transfer in request.transfers.all()}
    assert states == {"member-1": ("expired", "transfer.helper_silent"), "member-2": ("requested", "")}
    assert code_of(lambda: helper.serve(first, later(14))) == "transfer.ended"
    assert second.serve(second.check_in(later(14)).serve.transfer, later(14)).accepted


def test_a_helper_that_is_there_and_does_not_deliver_in_time_is_given_up(members: list[Member]) -> None:
    target, *_ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    for seconds in range(2, 40, 2):
        all_check_in(members, later(seconds))
        sweep(now=later(seconds))
    assert sorted(Transfer.objects.values_list("state", flat=True)) == ["expired", "requested"]


def test_who_declines_is_not_asked_again_and_the_next_is(members: list[Member]) -> None:
    target, helper, second, _ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    for _ in range(2):
        helper.decline(transfer, later(3))
    stands("asked", "")
    sweep(now=later(3))
    assert helper.check_in(later(4)).serve is None
    assert second.check_in(later(4)).serve.transfer != transfer
    assert Transfer.objects.get(pk=transfer).reason_code == "help.unwilling"


def test_a_target_that_cannot_use_the_portion_is_given_another(members: list[Member]) -> None:
    target, helper, second, _ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    helper.serve(transfer, later(2))
    target.decline(transfer, later(3))
    sweep(now=later(3))
    assert second.check_in(later(4)).serve is not None
    assert target.check_in(later(4)).help.portion is None


def test_after_as_many_helpers_as_the_plan_allows_nobody_could_help(members: list[Member]) -> None:
    target, *others = members
    target.ask(1, later(1))
    for seconds in (2, 4, 6):
        sweep(now=later(seconds))
        for member, transfer in zip(others, all_check_in(others, later(seconds)), strict=True):
            if transfer is not None:
                member.decline(transfer, later(seconds))
    stands("unmatched", "transfer.all_tried")
    assert Transfer.objects.count() == 2
    assert target.check_in(later(7)).help.state == "unmatched"


def test_where_nobody_knows_the_class_the_search_ends_when_its_time_is_over(members: list[Member]) -> None:
    target, *_ = members
    target.ask(1, later(1), classes=(1,))
    sweep(now=later(2))
    request = stands("asked", "transfer.no_neighbour")
    assert request.reason_sentence.startswith("3 other devices tell")
    sweep(now=later(20.9))
    stands("asked", "transfer.no_neighbour")
    sweep(now=later(21.1))
    stands("unmatched", "transfer.no_neighbour")


@pytest.mark.parametrize(
    ("told", "helps"),
    [
        (KNOWS_2, True),
        (FAILS_2, False),
        (Profile(batch=1, classes=(0, 2), counts=(9, 9), hits=(9, 9), willing=False), False),
        (Profile(batch=1, classes=(0, 2), counts=(1, 1)), False),
        (Profile(batch=1, classes=(0,), counts=(9,), hits=(9,)), False),
        (Profile(batch=1), False),
    ],
    ids=["knows", "drifts", "unwilling", "does not tell how well", "never saw it", "withdrew"],
)
def test_who_is_asked(told: Profile, helps: bool) -> None:
    make_peers()
    target, other = Member("target"), Member("other")
    for member in (target, other):
        member.check_in(later(0))
    other.tell(KNOWS_2, later(0))
    other.tell(told, later(1))
    target.ask(1, later(2))
    sweep(now=later(2))
    assert (other.check_in(later(3)).serve is not None) is helps


def test_a_busy_helper_is_passed_over_and_asked_once_it_is_free() -> None:
    make_peers()
    first, second, helper = Member("first"), Member("second"), Member("helper")
    for member in (first, second, helper):
        member.check_in(later(0))
    helper.tell(KNOWS_2, later(0))
    first.ask(1, later(1))
    second.ask(2, later(1))
    sweep(now=later(1))
    assert sorted(HelpRequest.objects.values_list("state", "reason_code")) == [
        ("asked", "transfer.helpers_busy"),
        ("matched", "transfer.telling"),
    ]
    helper.serve(helper.check_in(later(2)).serve.transfer, later(2))
    sweep(now=later(4))
    assert helper.check_in(later(4)).serve is not None


def test_a_device_that_asks_for_something_else_ends_what_it_asked_before(members: list[Member]) -> None:
    target, helper, *_ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    target.ask(2, later(3))
    assert helper.check_in(later(3)).serve is None
    assert Transfer.objects.get(pk=transfer).state == "withdrawn"
    assert HelpRequest.objects.filter(state__in=HelpRequest.LIVE).count() == 1


def test_a_portion_that_is_never_judged_ends_the_request(members: list[Member]) -> None:
    target, helper, *_ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    helper.serve(transfer, later(3))
    sweep(now=later(62))
    stands("delivered", "transfer.fetching")
    sweep(now=later(64))
    stands("abandoned", "transfer.not_judged")
    assert code_of(lambda: target.judge(transfer, later(65))) == "transfer.ended"


@pytest.mark.parametrize("end", [leave_fleet, revoke_device])
def test_a_device_that_leaves_is_helped_no_more_and_helps_no_more(members: list[Member], end: object) -> None:
    target, helper, second, _ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    helper.check_in(later(2))
    end(device=helper.row, now=later(3))
    for member in (target, second):
        member.check_in(later(3))
    sweep(now=later(3))
    assert second.check_in(later(4)).serve is not None
    end(device=target.row, now=later(5))
    sweep(now=later(5))
    stands("abandoned", "transfer.device_gone")
    assert second.check_in(later(6)).serve is None


def test_help_ends_with_the_federation_and_with_its_plan(members: list[Member]) -> None:
    target, *_ = members
    request = target.ask(1, later(1))
    change_plan(
        federation=request.federation, plan={"pace": {"kind": "alone"}, "help": {"kind": "cartel", "portion": "head"}}
    )
    sweep(now=later(2))
    stands("abandoned", "transfer.plan_changed")
    directive = target.check_in(later(3))
    assert directive.stands
    assert directive.standing.digest != target.digest
    finish_federation(federation=request.federation, now=later(0))
    assert not target.check_in(later(4)).stands
    assert code_of(lambda: target.ask(2, later(5))) == "transfer.not_a_member"


def test_what_stands_is_told_once(members: list[Member]) -> None:
    target, *_ = members
    directive = target.check_in(later(1))
    assert (directive.stands, directive.standing) == (True, None)


def test_a_request_that_the_platform_does_not_know_is_asked_for_again(members: list[Member]) -> None:
    target, *_ = members
    target.asks = "00000000-0000-0000-0000-000000000009"
    assert target.check_in(later(1)).help.state == "unknown"
    assert target.ask(9, later(2)).state == "asked"


def test_reports_replace_each_other_and_are_counted(members: list[Member]) -> None:
    _, helper, *_ = members
    helper.tell(FAILS_2, later(5))
    row = DeviceProfile.objects.get(device=helper.row)
    assert (row.profile(), row.reports, row.updated_at) == (FAILS_2, 2, later(5))
    assert row.size_bytes < 2 * 200


def test_what_cannot_be_is_refused(members: list[Member]) -> None:
    target, helper, *_ = members
    assert code_of(lambda: target.ask(1, later(1), classes=(3,))) == "transfer.wrong_classes"
    assert code_of(lambda: helper.tell(Profile(batch=1, classes=(3,), counts=(1,)), later(1))) == (
        "transfer.wrong_classes"
    )
    target.ask(1, later(1))
    assert code_of(lambda: helper.ask(1, later(1))) == "transfer.request_taken"
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    assert code_of(lambda: target.serve(transfer, later(2))) == "transfer.unknown"
    assert code_of(lambda: target.fetch(transfer)) == "transfer.not_delivered"
    assert code_of(lambda: target.merged(transfer, later(2))) == "transfer.not_delivered"
    assert code_of(lambda: helper.fetch(transfer)) == "transfer.unknown"
    assert code_of(lambda: helper.judge("no-uuid", later(2))) == "transfer.unknown"


@pytest.mark.parametrize(("portion_kind", "problem"), [("head_and_units", "no layer"), ("learner", "share one")])
def test_a_plan_whose_portions_the_pair_cannot_give_is_refused(portion_kind: str, problem: str) -> None:
    with pytest.raises(CoterieError, match=problem) as caught:
        make_peers(portion=portion_kind)
    assert caught.value.code == "federations.plan_does_not_fit"


def test_a_device_that_recovers_by_itself_withdraws(members: list[Member]) -> None:
    target, helper, *_ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    transfer = helper.check_in(later(2)).serve.transfer
    for request in (target.asks, "00000000-0000-0000-0000-000000000099", "no-uuid"):
        withdraw_help(device=helper.row, request_id=request, now=later(3))
    stands("requested", "transfer.serving")
    withdraw_help(device=target.row, request_id=target.asks, now=later(3))
    stands("abandoned", "transfer.recovered")
    assert helper.check_in(later(4)).serve is None
    assert code_of(lambda: helper.serve(transfer, later(4))) == "transfer.ended"


@pytest.mark.parametrize(("code", "asked"), [("conditions.metered", False), ("conditions.on_battery", True)])
def test_who_may_send_nothing_over_its_network_is_not_asked(members: list[Member], code: str, asked: bool) -> None:
    target, helper, *_ = members
    helper.check_in(later(1), blockers=(Reason(code, "the owner says so"),))
    target.ask(1, later(1))
    sweep(now=later(1))
    assert (Transfer.objects.get().helper == helper.row) is asked


def test_a_clock_that_is_set_back_lengthens_nothing(members: list[Member]) -> None:
    target, *_ = members
    target.ask(1, later(1))
    sweep(now=later(1))
    before = stands("matched", "transfer.telling")
    transfer = Transfer.objects.get()
    had = (before.due_at - later(1), transfer.due_at - later(1))
    sweep(now=later(-3600))
    request = HelpRequest.objects.get()
    transfer.refresh_from_db()
    assert (request.due_at - later(-3600), transfer.due_at - later(-3600)) == had
    sweep(now=later(-3590))
    assert HelpRequest.objects.get().due_at == request.due_at
