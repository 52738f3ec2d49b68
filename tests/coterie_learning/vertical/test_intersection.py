"""Private set intersection: it is right, tells nothing else, refuses what is hostile, and goes on where it was."""

from collections import deque
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_core_ed25519_is_valid_point

from coterie_learning.vertical.intersection import Alignment, AlignmentState, element
from coterie_learning.vertical.letters import CHUNK_POINTS, POINT_BYTES, Blinded, Doubled, Envelope, encode_letter
from coterie_wire.errors import WireError

People = st.lists(st.integers(0, 30).map(lambda number: f"p{number}"), unique=True, min_size=1, max_size=20)


def side(people: Sequence[str], number: int, salt: bytes = b"salt") -> Alignment:
    return Alignment(people, AlignmentState(salt, bytes([number]) * 32))


def talk(first: Alignment, second: Alignment) -> list[Blinded | Doubled]:
    """Pass letters, with both sides made anew of their states before each."""
    sides = [first, second]
    waiting: deque[tuple[int, Blinded | Doubled]] = deque(
        [(0, letter) for letter in first.begin()] + [(1, letter) for letter in second.begin()]
    )
    said = []
    while waiting:
        sender, letter = waiting.popleft()
        said.append(letter)
        receiver = sides[1 - sender] = Alignment(sides[1 - sender]._identifiers, sides[1 - sender].state)
        if isinstance(letter, Blinded):
            waiting.append((1 - sender, receiver.take_blinded(letter)))
        else:
            receiver.take_doubled(letter)
    first.state, second.state = sides[0].state, sides[1].state
    return said


@given(People, People)
def test_both_find_the_people_whom_both_know_in_one_order(mine: list[str], theirs: list[str]) -> None:
    first, second = side(mine, 1), side(theirs, 2)
    talk(first, second)
    found = [mine[row] for row in first.rows()]
    assert found == [theirs[row] for row in second.rows()]
    assert set(found) == set(mine) & set(theirs)


@given(People, st.randoms())
def test_letters_of_as_many_other_people_have_the_same_sizes_and_no_point_in_common(mine: list[str], random) -> None:
    """Nobody who sees them tells an empty intersection from a full one, nor whom they are of."""
    others = [f"other {number}" for number in range(len(mine))]
    same = talk(side(mine, 1), side(random.sample(mine, len(mine)), 2))
    none = talk(side(mine, 3), side(others, 4))
    assert [len(encode_letter(Envelope("a", 0, one))) for one in same] == [
        len(encode_letter(Envelope("a", 0, one))) for one in none
    ]
    points = [one.points[at : at + POINT_BYTES] for one in same for at in range(0, len(one.points), POINT_BYTES)]
    # Only points that were multiplied by both numbers agree, one of each person.
    assert len(set(points)) == 3 * len(mine)
    assert not {element(name, salt=b"salt") for name in mine} & set(points)


def test_the_order_of_points_is_not_that_of_the_table() -> None:
    people = [f"p{number}" for number in range(50)]
    (letter,) = side(people, 1).begin()
    (turned,) = side(people[::-1], 1).begin()
    points = [letter.points[at : at + POINT_BYTES] for at in range(0, len(letter.points), POINT_BYTES)]
    assert all(map(crypto_core_ed25519_is_valid_point, points))
    assert set(points) == {turned.points[at : at + POINT_BYTES] for at in range(0, len(turned.points), POINT_BYTES)}
    assert side(people, 1)._order(50) != list(range(50))


def test_with_another_salt_the_points_are_others() -> None:
    """What was seen of one alliance says nothing in another."""
    assert element("p", salt=b"a") != element("p", salt=b"b")


IDENTITY = (1).to_bytes(32, "little")
SMALL_ORDER = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
NOT_CANONICAL = b"\xff" * 32
GOOD = element("someone", salt=b"salt")


@pytest.mark.parametrize("point", [IDENTITY, SMALL_ORDER, NOT_CANONICAL, bytes(32), GOOD[:31], GOOD + GOOD])
def test_points_that_are_hostile_are_refused_and_change_nothing(point: bytes) -> None:
    alignment = side(["a", "b"], 1)
    before = alignment.state
    for letter in (Blinded(2, 0, point), Doubled(0, point)):
        with pytest.raises(WireError) as refused:
            alignment.take_blinded(letter) if isinstance(letter, Blinded) else alignment.take_doubled(letter)
        assert refused.value.code == "vertical.hostile_points"
    assert alignment.state is before


@pytest.mark.parametrize(
    "letter", [Blinded(1, 0, GOOD + element("b", salt=b"")), Blinded(0, 0, b""), Blinded(1 << 20, 0, GOOD)]
)
def test_more_points_than_announced_or_allowed_are_refused(letter: Blinded) -> None:
    with pytest.raises(WireError, match="announced"):
        side(["a", "b"], 1).take_blinded(letter)


@pytest.mark.parametrize("letter", [Blinded(5, 1, GOOD), Doubled(1, GOOD)])
def test_letters_out_of_order_are_refused(letter: Blinded | Doubled) -> None:
    alignment = side(["a", "b"], 1)
    with pytest.raises(WireError) as refused:
        alignment.take_blinded(letter) if isinstance(letter, Blinded) else alignment.take_doubled(letter)
    assert refused.value.code == "vertical.out_of_order"


@pytest.mark.long
def test_many_people_come_in_several_letters() -> None:
    mine = [f"p{number}" for number in range(2 * CHUNK_POINTS + 3)]
    theirs = [f"p{number}" for number in range(CHUNK_POINTS, 3 * CHUNK_POINTS)]
    first, second = side(mine, 1), side(theirs, 2)
    assert len(talk(first, second)) == 2 * 3 + 2 * 2
    assert len(first.rows()) == CHUNK_POINTS + 3
