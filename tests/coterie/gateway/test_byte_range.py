import pytest

from coterie.gateway.byte_range import RangeNotSatisfiable, parse_range


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, None),
        ("bytes=0-", (0, 10)),
        ("bytes=3-5", (3, 6)),
        ("bytes=3-99", (3, 10)),
        ("bytes=-4", (6, 10)),
        ("bytes=-99", (0, 10)),
        ("bytes=9-9", (9, 10)),
        ("bytes=5-3", None),
        ("bytes=-", None),
        ("bytes=0-1,3-4", None),
        ("lines=0-1", None),
        ("bytes=x-y", None),
    ],
)
def test_parses_one_range_and_ignores_the_rest(header: str | None, expected: tuple[int, int] | None) -> None:
    assert parse_range(header, 10) == expected


@pytest.mark.parametrize("header", ["bytes=10-", "bytes=99-100", "bytes=-0"])
def test_refuses_what_lies_behind_the_end(header: str) -> None:
    with pytest.raises(RangeNotSatisfiable):
        parse_range(header, 10)


def test_nothing_of_an_empty_blob_can_be_had_by_range() -> None:
    with pytest.raises(RangeNotSatisfiable):
        parse_range("bytes=0-", 0)
