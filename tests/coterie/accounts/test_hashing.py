"""Passwords are checked behind everything else, with Django's own hashes."""

import os
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.contrib.auth.hashers import PBKDF2PasswordHasher

from coterie.accounts.hashing import NICENESS, PatientHasher


def test_hashes_are_djangos_whoever_asks_at_once() -> None:
    with ThreadPoolExecutor(4) as asking:
        found = list(asking.map(lambda salt: PatientHasher().encode("secret", salt, 1000), "abcdefgh"))
    assert found == [PBKDF2PasswordHasher().encode("secret", salt, 1000) for salt in "abcdefgh"]
    assert all(PatientHasher().verify("secret", each) and not PatientHasher().verify("other", each) for each in found)


@pytest.mark.skipif(sys.platform != "linux", reason="threads have no priorities of their own")
def test_one_thread_checks_and_steps_back() -> None:
    PatientHasher().encode("secret", "salt", 1)
    (checking,) = (each for each in threading.enumerate() if each.name.startswith("passwords"))
    assert checking.native_id is not None
    own = os.getpriority(os.PRIO_PROCESS, threading.get_native_id())
    assert os.getpriority(os.PRIO_PROCESS, checking.native_id) == min(19, own + NICENESS)
