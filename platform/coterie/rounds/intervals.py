"""How often devices check in: at fixed intervals in a small fleet, less often where the platform could not keep up."""

from django.db.models import Q

from coterie.fleet.counting import interval_s

BUSY_CHECK_IN_S = 2.0
"""While a device works on an assignment, so that its progress is shown and its silence noticed."""
IDLE_CHECK_IN_S = 15.0
"""Otherwise; a device also checks in whenever its conditions change or it is woken."""


def idle_interval_s(*, fleet: int) -> float:
    """Seconds between two check-ins of a device without an assignment, in a fleet of `fleet` devices."""
    return interval_s(IDLE_CHECK_IN_S, devices=fleet)


def is_steered(*, fleet: int) -> bool:
    """Whether the fleet is so large that devices are told when to check in next."""
    return idle_interval_s(fleet=fleet) > IDLE_CHECK_IN_S


def busy_interval_s(*, at_work: int, fleet: int) -> float:
    """Seconds between two check-ins of a device with an assignment, where `at_work` devices work on the same round."""
    return min(interval_s(BUSY_CHECK_IN_S, devices=at_work), idle_interval_s(fleet=fleet))


IS_ASKED_OFTEN = Q(device__check_in_s__lte=IDLE_CHECK_IN_S)
"""The filter for assignments whose device is asked to check in as often as in a small fleet."""
