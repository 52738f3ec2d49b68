"""What a receipt says of what covered something: of updates by the plan, of profiles by the device's own word."""

import msgspec
import pytest

from coterie.owners.receipts import Receipt, receipts_of
from coterie.rounds.advancing import sweep
from coterie.rounds.models import Round
from coterie.transfer.asking import ask_help
from coterie_wire.helping import AskHelp, Profile, SampleNoise
from tests.coterie.transfer.peers import FAILS_2, KNOWS_2, SLUG, Member, make_peers
from tests.coterie.world import fleet_of, later, make_federation, make_pair, make_version

pytestmark = pytest.mark.django_db
DAY_S = 24 * 3600


@pytest.fixture
def member() -> Member:
    make_peers()
    return Member("hall")


def noised(profile: Profile, epsilon: float) -> Profile:
    return msgspec.structs.replace(profile, noise=SampleNoise(epsilon, 1e-6))


def profiles(member: Member) -> list[Receipt]:
    return [receipt for receipt in receipts_of(member.row) if receipt.kind == "profiles"]


def test_profiles_of_a_day_are_covered_by_what_the_loudest_of_them_tells(member: Member) -> None:
    member.tell(noised(KNOWS_2, 3.0), later(0))
    member.tell(noised(KNOWS_2, 7.5), later(5))
    member.tell(noised(KNOWS_2, 1.0), later(9))
    (receipt,) = profiles(member)
    assert (receipt.count, receipt.privacy, receipt.sample) == (3, "profile_noise", SampleNoise(7.5, 1e-6))


def test_a_request_for_help_tells_a_profile_too(member: Member) -> None:
    request = "00000000-0000-0000-0000-000000000007"
    ask = AskHelp(request=request, federation=SLUG, classes=(2,), profile=noised(FAILS_2, 2.0))
    ask_help(device=member.row, ask=ask, now=later(0))
    (receipt,) = profiles(member)
    assert (receipt.privacy, receipt.sample) == ("profile_noise", SampleNoise(2.0, 1e-6))


def test_one_profile_without_noise_leaves_a_day_uncovered_and_no_other(member: Member) -> None:
    member.tell(noised(KNOWS_2, 3.0), later(0))
    member.tell(KNOWS_2, later(5))
    member.tell(noised(KNOWS_2, 3.0), later(DAY_S))
    first, second = profiles(member)
    assert (first.count, first.privacy, first.sample) == (2, "", None)
    assert (second.count, second.privacy) == (1, "profile_noise")


@pytest.mark.parametrize("kind", ["none", "clip", "central_noise"])
def test_an_update_is_covered_by_the_kind_of_its_plan_that_changes_it(kind: str) -> None:
    make_version(pair := make_pair())
    plan = {"privacy": {"kind": kind}, "merge": {"kind": "fed_avg", "weight_by": "uniform"}, "codec": {"kind": "int8"}}
    make_federation(pair, plan=plan, target_updates=2, min_updates=2, over_selection=1)
    device, other = fleet_of(2)
    for one in (device, other):
        one.say(later(0))
    sweep(now=later(1))
    told = device.say(later(2)).assignment
    assert told is not None
    device.deliver(told.assignment, later(3), seed=1)
    (receipt,) = receipts_of(device.row)
    assert receipt.privacy == ("" if kind == "none" else kind)

    round_ = Round.objects.get()
    round_.plan["privacy"] = {"kind": "of a package that has been removed"}
    round_.save()
    (receipt,) = receipts_of(device.row)
    assert receipt.privacy == "of a package that has been removed"
