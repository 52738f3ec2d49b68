"""The device's own export: what its store knows and what the platform says, and no secret."""

import json
from datetime import date
from pathlib import Path

import msgspec
import pytest

from coterie_agent.cli import main
from coterie_agent.errors import Exit
from coterie_agent.home import Home
from coterie_agent.store.opened import open_store
from tests.coterie_agent.fake_platform import CREDENTIAL, TOKEN, FakePlatform


@pytest.fixture
def joined(tmp_path: Path, platform: FakePlatform, capsys: pytest.CaptureFixture[str]) -> Path:
    assert run(tmp_path, "join", platform.url, TOKEN, "--yes", "--name", "kiosk") == 0
    capsys.readouterr()
    return tmp_path


def run(home: Path, *arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["--home", str(home), *arguments])
    assert isinstance(ended.value.code, int)
    return ended.value.code


def test_it_tells_what_is_here_and_what_the_platform_knows(
    joined: Path, platform: FakePlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    platform.known = {
        "updates": tuple(msgspec.Raw(json.dumps({"n": n}).encode()) for n in range(5)),
        "receipts": (),
    }
    with open_store(Home(joined)) as store:
        store.journal.record_sent("update", 120, day=date(2026, 1, 1).isoformat())
        key = store.identity.key()
    assert run(joined, "export", "--json") == 0
    text = capsys.readouterr().out
    found = json.loads(text)
    assert (found["format"], found["report"]["name"]) == ("coterie-device-export/1", "kiosk")
    assert {"day": "2026-01-01", "what": "update", "messages": 1, "bytes": 120} in found["sent"]
    assert found["platform"]["sections"] == {"updates": [{"n": n} for n in range(5)], "receipts": []}
    tables = {table["name"]: table for table in found["stored"]}
    assert tables["identity"]["rows"] == 1 and tables["identity"]["bytes"] > 32
    assert CREDENTIAL not in text and bytes(key).hex() not in text


def test_without_the_platform_its_part_is_left_out_only_where_that_is_asked(
    joined: Path, platform: FakePlatform, capsys: pytest.CaptureFixture[str]
) -> None:
    platform.close()
    assert run(joined, "export", "--json") == Exit.UNREACHABLE
    assert json.loads(capsys.readouterr().out)["code"] == "link.unreachable"
    assert run(joined, "export", "--offline", "--json") == 0
    assert json.loads(capsys.readouterr().out)["platform"] is None
