"""Who was known a moment ago is for a while, and memory is bounded."""

import pytest

from coterie.gateway.door import known_secrets
from coterie.gateway.door.known_secrets import KNOWN_BEFORE_S, KNOWN_S, KnownSecrets


def test_knows_for_a_while() -> None:
    now = 1000.0
    secrets = KnownSecrets(lambda: now)
    secrets.add("good")
    assert "good" in secrets
    assert "other" not in secrets
    now += KNOWN_S
    assert "good" not in secrets


def test_remembers_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known_secrets, "REMEMBERED", 2)
    secrets = KnownSecrets(lambda: 1000.0)
    for secret in ("a", "b", "a", "c"):
        secrets.add(secret)
    assert ["a" in secrets, "b" in secrets, "c" in secrets, len(secrets)] == [True, False, True, 2]


def test_what_was_good_within_a_day_is_no_guess_until_it_is_forgotten() -> None:
    now = 1000.0
    secrets = KnownSecrets(lambda: now)
    secrets.add("good")
    secrets.add("earlier", ago_s=KNOWN_S)
    assert "earlier" not in secrets
    now += KNOWN_BEFORE_S - 1
    assert secrets.was_valid("good")
    assert not secrets.was_valid("earlier")
    secrets.discard("good")
    secrets.discard("never known")
    assert not secrets.was_valid("good")
