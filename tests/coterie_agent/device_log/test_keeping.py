"""The log on the device: what is kept, within which bounds, and what of it is sent."""

import logging
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from coterie_agent.device_log.keeping import FILE_BYTES, LogKeeper, delete_log, newest, read_log
from coterie_wire.device_log import MAX_LINES, MAX_LOG_BYTES, MAX_TEXT, LogLine
from coterie_wire.messages import MAX_MESSAGE_BYTES


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "log.jsonl"


@pytest.fixture
def log(path: Path) -> Iterator[logging.Logger]:
    logger = logging.Logger("coterie_agent.contact", logging.INFO)
    keeper = LogKeeper(path)
    logger.addHandler(keeper)
    yield logger
    keeper.close()


def texts(path: Path, since: float = 0.0) -> list[str]:
    return [line.text for line in read_log(path, since=since)]


def test_a_record_is_kept_with_its_time_level_and_part(log: logging.Logger, path: Path) -> None:
    log.warning("no contact: %s", "refused")
    log.debug("not this one")
    (line,) = read_log(path, since=0)
    assert (line.level, line.source, line.text) == ("warning", "contact", "no contact: refused")
    assert list(read_log(path, since=line.at + 1)) == []


def test_a_traceback_is_kept_line_by_line(log: logging.Logger, path: Path) -> None:
    try:
        raise ValueError("broken")
    except ValueError:
        log.exception("thread %s failed", "worker")
    kept = texts(path)
    assert (kept[0], kept[-1]) == ("thread worker failed", "ValueError: broken")
    assert not any("\n" in text for text in kept)


def test_control_characters_and_what_is_too_long_do_not_get_in(log: logging.Logger, path: Path) -> None:
    log.error("a\x1b[31mb\x00c%s", "x" * MAX_TEXT)
    (text,) = texts(path)
    assert text.startswith("a [31mb cxxx") and len(text) == MAX_TEXT


def test_the_files_stay_small_and_the_newest_lines_are_in_them(log: logging.Logger, path: Path) -> None:
    for number in range(8_000):
        log.info("line %d %s", number, "x" * 100)
    assert sum(file.stat().st_size for file in path.parent.iterdir()) <= 2 * FILE_BYTES
    kept = texts(path)
    assert kept[-1].startswith("line 7999 ") and len(kept) > MAX_LINES
    numbers = [int(text.split()[1]) for text in kept]
    assert numbers == list(range(numbers[0], 8_000))


def test_a_delivery_holds_the_newest_and_counts_the_others() -> None:
    lines = [LogLine(at=float(number), level="info", source="contact", text="ä" * MAX_TEXT) for number in range(3_000)]
    found = newest(iter(lines))
    assert found.lines == tuple(lines[-len(found.lines) :])
    assert found.left_out + len(found.lines) == 3_000
    assert len(msgspec.json.encode(found.lines)) <= MAX_LOG_BYTES + 1 < MAX_MESSAGE_BYTES
    short = newest(msgspec.structs.replace(line, text="x") for line in lines)
    assert (len(short.lines), short.left_out) == (MAX_LINES, 3_000 - MAX_LINES)


def test_damaged_lines_are_passed_over(log: logging.Logger, path: Path) -> None:
    log.info("before")
    with path.open("ab") as file:
        file.write(b'{"at": \xff\n\x00\x00\n')
    log.info("after")
    assert texts(path) == ["before", "after"]


def test_a_full_disk_ends_nothing(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    logger = logging.Logger("x")
    logger.addHandler(LogKeeper(path / "is no directory"))
    path.write_text("a file")
    logger.error("goes on")
    assert capsys.readouterr().err == ""


def test_forgetting_it_leaves_nothing(log: logging.Logger, path: Path) -> None:
    log.info("x")
    path.with_name("log.jsonl.1").write_text("older")
    delete_log(path)
    delete_log(path)
    assert list(path.parent.iterdir()) == []
