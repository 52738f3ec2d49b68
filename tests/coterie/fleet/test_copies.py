"""Two agents that run as one device are told apart from one that connects anew."""

import pytest

from coterie.fleet.copies import APART_S, LATE_S, SocketOverlap, is_copied, note_copy
from coterie.fleet.models import Device
from tests.coterie.world import later, make_device


def test_who_speaks_twice_long_after_a_newer_socket_was_opened_is_another_agent() -> None:
    overlap = SocketOverlap()
    assert not overlap.record_message(0)
    overlap.record_newer_socket(10)
    overlap.record_newer_socket(10 + LATE_S)  # by the copy again: the first counts
    assert not overlap.record_message(11), "it was under way"
    assert not overlap.record_message(10 + LATE_S), "what a broken line held back comes late"
    assert not overlap.record_message(10 + LATE_S + APART_S / 2), "and at once"
    assert overlap.record_message(10 + LATE_S + APART_S)


@pytest.mark.django_db
def test_it_counts_for_a_while() -> None:
    device = make_device("kitchen")
    note_copy(device_id=str(device.pk), now=later(0))
    note_copy(device_id=str(device.pk), now=later(1))
    assert Device.objects.get().copied_at == later(0), "it is not written at each check-in"
    assert Device.objects.filter(is_copied(later(60))).exists()
    assert not Device.objects.filter(is_copied(later(601))).exists()
