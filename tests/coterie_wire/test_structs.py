import subprocess
import sys

import msgspec
import pytest

from coterie_wire.structs import from_json, from_msgpack, from_values

THREADS = """
import sys, threading
import msgspec
from coterie_wire.structs import from_json, from_values

sys.setswitchinterval(1e-6)
for _ in range(200):
    kind = int
    for depth in range(4):
        kind = msgspec.defstruct(f"Level{depth}", [("inside", kind), ("more", list[kind] | None, None)])
    raw, value = b"1", 1
    for _ in range(4):
        raw, value = b'{"inside":%b}' % raw, {"inside": value}
    together = threading.Barrier(4)

    def read(number):
        together.wait()
        return from_json(raw, kind) if number % 2 else from_values(value, kind)

    threads = [threading.Thread(target=read, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


class Point(msgspec.Struct):
    x: int


def test_threads_may_meet_at_a_type_that_none_has_read() -> None:
    """In a process of its own, which would die of it."""
    ended = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_every_way_gives_the_type_that_is_asked_for() -> None:
    assert from_json(b'{"x":1}', Point) == from_values({"x": 1}, Point) == Point(1)
    assert from_msgpack(msgspec.msgpack.encode(Point(1)), Point) == Point(1)
    assert from_json(b'{"x":1}') == {"x": 1}
    assert from_json(b'[{"x":1},2]', list[Point | int]) == [Point(1), 2]
    assert from_values({"x": "1"}, Point, strict=False) == Point(1)


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        from_json(b'{"x":"1"}', Point)
    with pytest.raises(msgspec.ValidationError, match="Expected `int`"):
        from_values({"x": "1"}, Point)
