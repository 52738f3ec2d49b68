"""Keys that messages name, and what is no key."""

from uuid import uuid4

import pytest

from coterie.core.row_keys import key_of
from coterie.rounds.errors import UnknownAssignment


def test_a_key_is_read_and_what_is_none_is_unknown() -> None:
    key = uuid4()
    assert key_of(str(key), UnknownAssignment(assignment=str(key))) == key
    for text in ("", "7", f"{key}0"):
        with pytest.raises(UnknownAssignment, match="assignment"):
            key_of(text, UnknownAssignment(assignment=text))
