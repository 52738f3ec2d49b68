"""Who was known a moment ago is for a while, and memory is bounded."""

import pytest

from coterie.gateway.door import known
from coterie.gateway.door.known import KNOWN_S, Known


def test_knows_for_a_while() -> None:
    now = 1000.0
    secrets = Known(lambda: now)
    secrets.add("good")
    assert "good" in secrets
    assert "other" not in secrets
    now += KNOWN_S
    assert "good" not in secrets


def test_remembers_so_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "REMEMBERED", 2)
    secrets = Known(lambda: 1000.0)
    for secret in ("a", "b", "a", "c"):
        secrets.add(secret)
    assert ["a" in secrets, "b" in secrets, "c" in secrets, len(secrets)] == [True, False, True, 2]
