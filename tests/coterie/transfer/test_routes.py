"""By what way a portion comes: fetched from its helper where both devices open direct paths, else by the platform."""

from datetime import timedelta

import pytest
from django.conf import LazySettings

from coterie.fleet.models import PathSignal
from coterie.rounds import device_api
from coterie.rounds.signalling import NoBusiness
from coterie.transfer.advancing import sweep
from coterie.transfer.models import Transfer
from coterie_wire.conditions import Reason
from coterie_wire.helping import DIRECT_S
from coterie_wire.paths import MAX_SIGNALS, SIGNAL_S, SendSignal
from tests.coterie.transfer.peers import KNOWS_2, Member, make_peers, portion
from tests.coterie.world import later

pytestmark = pytest.mark.django_db
CONTENT = portion()
NO_WAY = Reason("transfer.no_direct_path", "the networks between let no direct path through")


def matched(*, helper_opens: bool = True, target_opens: bool = True) -> tuple[Member, Member, Transfer]:
    """A helper that has been told to serve, and who asked."""
    make_peers()
    target, helper = Member("target", opens_paths=target_opens), Member("helper", opens_paths=helper_opens)
    for member in (target, helper):
        member.check_in(later(0))
    helper.tell(KNOWS_2, later(0))
    target.ask(1, later(1))
    sweep(now=later(1))
    return helper, target, Transfer.objects.get()


def way(transfer: Transfer) -> tuple[str, str, str]:
    transfer.refresh_from_db()
    return transfer.state, transfer.way, transfer.way_code


def test_a_portion_is_fetched_from_its_helper_and_then_merged(settings: LazySettings) -> None:
    settings.STUN = "stun.example:3478"
    helper, target, transfer = matched()
    assert way(transfer) == ("matched", "trying", "transfer.trying_directly")
    serve = helper.check_in(later(2)).serve
    assert serve is not None and serve.direct is not None
    assert (serve.direct.device, serve.direct.stun) == (str(target.row.pk), "stun.example:3478")
    assert target.check_in(later(2)).help.portion is None, "it is not announced yet"
    helper.announce(str(transfer.pk), later(3), CONTENT)
    found = target.check_in(later(4)).help.portion
    assert found.direct.device == str(helper.row.pk)
    assert (found.transfer, found.content.size_bytes) == (str(transfer.pk), len(CONTENT))
    for _ in range(2):
        target.received(str(transfer.pk), later(5))
    assert way(transfer) == ("delivered", "direct", "transfer.fetched_directly")
    assert helper.check_in(later(6)).serve is None
    assert target.check_in(later(6)).help.portion.direct is None
    target.merged(str(transfer.pk), later(7))
    target.judge(str(transfer.pk), later(8))
    assert way(transfer)[0] == "kept"


def test_where_no_path_comes_about_the_helper_uploads() -> None:
    helper, target, transfer = matched()
    helper.check_in(later(2))
    helper.announce(str(transfer.pk), later(3), CONTENT)
    target.received(str(transfer.pk), later(12), failed=NO_WAY)
    assert way(transfer) == ("requested", "platform", NO_WAY.code)
    assert target.check_in(later(13)).help.portion is None
    assert helper.check_in(later(13)).serve.direct is None
    helper.serve(str(transfer.pk), later(14), CONTENT)
    target.received(str(transfer.pk), later(15))
    assert way(transfer) == ("delivered", "platform", NO_WAY.code)
    assert target.fetch(str(transfer.pk)) == CONTENT


def test_a_helper_that_nobody_comes_to_uploads_by_itself() -> None:
    helper, target, transfer = matched()
    helper.check_in(later(2))
    late = later(2 + DIRECT_S + 1)
    Transfer.objects.update(due_at=late + timedelta(seconds=60))
    assert helper.check_in(late).serve.direct is None
    helper.serve(str(transfer.pk), late, CONTENT)
    assert way(transfer) == ("delivered", "platform", "transfer.not_fetched")
    assert target.fetch(str(transfer.pk)) == CONTENT


@pytest.mark.parametrize(("helper_opens", "target_opens"), [(False, True), (True, False), (False, False)])
def test_a_device_that_opens_no_paths_is_told_of_none(helper_opens: bool, target_opens: bool) -> None:
    helper, _, transfer = matched(helper_opens=helper_opens, target_opens=target_opens)
    assert way(transfer)[1:] == ("platform", "transfer.opens_no_paths")
    assert helper.check_in(later(2)).serve.direct is None
    helper.serve(str(transfer.pk), later(3), CONTENT)
    assert way(transfer)[:2] == ("delivered", "platform")


def test_signals_are_passed_on_for_a_minute_between_the_two_and_to_nobody_else() -> None:
    helper, target, _ = matched()
    stranger = Member("stranger", opens_paths=True)

    def send(sender: Member, receiver: Member, number: int, at: float) -> None:
        signal = SendSignal(f"{number:032x}", str(receiver.row.pk), b"sealed %d" % number)
        device_api.send_signal(sender.row, signal, later(at))

    send(target, helper, 1, 2)
    (signal,) = helper.check_in(later(3)).signals
    assert (signal.way.device, signal.sealed) == (str(target.row.pk), b"sealed 1")
    send(helper, target, 1, 3)
    assert [one.sealed for one in target.check_in(later(4)).signals] == [b"sealed 1"]
    assert helper.check_in(later(3 + SIGNAL_S)).signals == ()
    for number in range(2, MAX_SIGNALS + 8):
        send(target, helper, number, 4)
    assert PathSignal.objects.filter(sender=target.row).count() == MAX_SIGNALS
    for receiver in (target, helper):
        with pytest.raises(NoBusiness):
            send(stranger, receiver, 99, 5)
    with pytest.raises(NoBusiness):
        device_api.send_signal(target.row, SendSignal("0" * 32, "nobody", b""), later(5))
