"""The log of identities: one entry a device, chained, read by everybody, changed by nobody."""

import pytest
from rest_framework.test import APIClient

from coterie.accounts.services import create_operator
from coterie.secure_sums.errors import OtherIdentity
from coterie.secure_sums.identity_log import check_identity, log_head, log_length, read_log
from coterie_learning.secure_sum.identities import EMPTY, next_head
from coterie_wire.secure_sum import LogEntry, ReadLog
from tests.coterie.world import later, make_device

pytestmark = pytest.mark.django_db


def test_a_device_enters_its_key_once_and_reads_what_it_lacks() -> None:
    first, second = make_device("first"), make_device("second")
    alone = read_log(device=first, message=ReadLog(bytes([1] * 32), known=0), now=later(0))
    assert (alone.entries, alone.length) == ((LogEntry(str(first.pk), bytes([1] * 32)),), 1)
    both = read_log(device=second, message=ReadLog(bytes([2] * 32), known=0), now=later(1))
    assert [entry.device for entry in both.entries] == [str(first.pk), str(second.pk)]
    again = read_log(device=first, message=ReadLog(bytes([1] * 32), known=1), now=later(2))
    assert ([entry.device for entry in again.entries], again.length) == ([str(second.pk)], 2)


def test_heads_are_those_that_devices_compute() -> None:
    assert log_head(0) == EMPTY
    head = EMPTY
    for number in range(3):
        device = make_device(f"device-{number}")
        read_log(device=device, message=ReadLog(bytes([number] * 32), known=0), now=later(0))
        head = next_head(head, str(device.pk), bytes([number] * 32))
        assert log_head(log_length()) == head


def test_another_key_of_the_same_device_is_refused() -> None:
    device = make_device("first")
    read_log(device=device, message=ReadLog(bytes([1] * 32), known=0), now=later(0))
    with pytest.raises(OtherIdentity):
        read_log(device=device, message=ReadLog(bytes([2] * 32), known=0), now=later(1))
    with pytest.raises(OtherIdentity):
        check_identity(make_device("second"), bytes([1] * 32))
    assert log_length() == 1


def test_operators_read_it() -> None:
    device = make_device("first")
    read_log(device=device, message=ReadLog(bytes([1] * 32), known=0), now=later(0))
    api = APIClient()
    api.force_authenticate(create_operator(username="ada").operator)
    (entry,) = api.get("/api/identities/").json()["results"]
    assert (entry["position"], entry["device"], entry["identity"]) == (1, str(device.pk), "01" * 32)
    assert entry["head"] == log_head(1).hex()
