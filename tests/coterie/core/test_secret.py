import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from coterie.core.secret import load_or_make


def test_is_made_once_and_readable_by_its_user_alone(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    first = load_or_make(path, size_bytes=32)
    assert len(first) == 32
    assert load_or_make(path, size_bytes=32) == first
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in tmp_path.iterdir()] == ["secret"]


def test_all_who_ask_at_once_get_the_same(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: load_or_make(tmp_path / "secret", size_bytes=32), range(32)))
    assert len(found) == 1
