"""Hours are those of the place where the device is, from one look to the next."""

import struct
from datetime import UTC, datetime
from pathlib import Path

import pytest

from coterie_agent.conditions.local_hour import LocalHour

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def zone(offset_h: int) -> bytes:
    """A time zone file (RFC 9636, version 1) of one offset."""
    return struct.pack(">4sx15x6l", b"TZif", 0, 0, 0, 0, 1, 4) + struct.pack(">lbb", offset_h * 3600, 0, 0) + b"XYZ\0"


def move(link: Path, offset_h: int) -> None:
    """As `timedatectl set-timezone` does it: a new link over the old."""
    target = link.with_name(f"zone{offset_h}")
    target.write_bytes(zone(offset_h))
    draft = link.with_suffix(".draft")
    draft.symlink_to(target)
    draft.replace(link)


def test_a_changed_time_zone_counts_at_once(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    move(link, 9)
    local_hour = LocalHour(link, fixed="")
    assert local_hour(NOON) == 21
    move(link, -5)
    assert local_hour(NOON) == 7


@pytest.mark.parametrize("content", [None, b"no time zone"])
def test_where_there_is_no_zone_file_the_c_library_says(tmp_path: Path, content: bytes | None) -> None:
    file = tmp_path / "localtime"
    if content is not None:
        file.write_bytes(content)
    assert LocalHour(file, fixed="")(NOON) == NOON.astimezone().hour


def test_who_sets_a_zone_for_the_agent_gets_that(tmp_path: Path) -> None:
    link = tmp_path / "localtime"
    move(link, 9)
    assert LocalHour(link, fixed="UTC")(NOON) == NOON.astimezone().hour
