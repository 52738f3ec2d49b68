"""What the platform recovers from shares of which some are wrong, and whom it blames for them."""

import msgspec
import pytest

from coterie_learning.secure_sum import masks, party, recovery
from coterie_learning.secure_sum.terms import SumTerms
from coterie_learning.secure_sum.vector import Layout
from coterie_wire.errors import WireError
from coterie_wire.secure_sum import Share
from tests.coterie_learning.secure_sum.session import EASY, Collected, collect, joined

LAYOUT = Layout(length=4, bits=16, tail=1)
SPARSE = SumTerms(fewest=20, corrupted=0.1, dropped=0.1, adversary="curious")
WRONG = b"\0" + bytes([7] * 32)


@pytest.fixture(scope="module")
def many() -> Collected:
    """Sixty, of whom two were lost with their vectors, and one before it revealed shares."""
    return collect(60, LAYOUT, SPARSE, before_vector=[4, 31], before_revealing=[11])


def recovered(found: Collected, terms: SumTerms = SPARSE, **changes: object) -> recovery.Recovered:
    known: dict[str, object] = {"shared": found.shared, "survivors": found.survivors, "revealed": found.revealed}
    return recovery.recover(found.found, terms, **{**known, **changes})  # type: ignore[arg-type]


def test_masks_are_recovered_and_nobody_is_blamed(many: Collected) -> None:
    graph = SPARSE.graph(60)
    masks_, liars = recovered(many)
    assert not liars
    assert sum(mask.is_added for mask in masks_) >= 58
    assert len(masks_) <= 58 + 2 * graph.neighbours


def test_whoever_lies_about_all_is_named(many: Collected) -> None:
    liars = many.survivors[3:6]
    lies = {place: [msgspec.structs.replace(one, share=WRONG) for one in many.revealed[place]] for place in liars}
    found = recovered(many, revealed={**many.revealed, **lies})
    assert found.liars == set(liars)
    assert found.masks == recovered(many).masks


def test_shares_that_nobody_asked_for_change_nothing(many: Collected) -> None:
    """Of a member for each secret of every other, most of which are no neighbours of it."""
    stranger = many.survivors[0]
    nonsense = [Share(owner, of, WRONG) for owner in range(60) for of in ("own_mask", "pair_masks")]
    mine = many.revealed[stranger]
    found = recovered(many, revealed={**many.revealed, stranger: [*nonsense, *mine]})
    assert found == recovered(many)


def test_one_wrong_share_blames_nobody_for_two_may_have_made_it(many: Collected) -> None:
    place = many.survivors[0]
    first, *rest = many.revealed[place]
    found = recovered(many, revealed={**many.revealed, place: [msgspec.structs.replace(first, share=WRONG), *rest]})
    assert not found.liars
    assert found.masks == recovered(many).masks


def test_who_reveals_wrong_shares_that_another_dealt_is_not_blamed() -> None:
    found, states = joined(7)
    shared = {place: party.share(state, found, EASY) for place, state in states.items()}
    other = party.share(states[2], found, EASY)  # of another polynomial
    threshold = EASY.graph(7).threshold
    dealt = [*shared[2].sent[:threshold], *other.sent[threshold:]]
    boxes = [box for place, state in shared.items() for box in (dealt if place == 2 else state.sent)]
    revealed = {
        place: party.reveal(
            msgspec.structs.replace(state, received=recovery.boxes_for(place, boxes)), range(7), EASY
        ).shares
        for place, state in shared.items()
    }
    result = recovery.recover(found, EASY, shared=set(range(7)), survivors=range(7), revealed=revealed)
    assert len(result.masks) == 7
    assert not result.liars & {0, 1, 3, 4, 5, 6}


def test_of_three_the_one_that_lies_is_named_and_not_those_it_lies_about() -> None:
    """One share gives a secret there, so that each of the others is at odds with one."""
    found = collect(3, LAYOUT)
    assert EASY.graph(3).threshold == 1
    lies = [msgspec.structs.replace(one, share=WRONG) for one in found.revealed[2]]
    assert recovered(found, EASY, revealed={**found.revealed, 2: lies}).liars == {2}


@pytest.mark.parametrize(("revealing", "is_known"), [(9, True), (8, True), (7, False)])
def test_who_publishes_another_secret_than_it_deals_is_named_where_too_many_say_so(
    revealing: int, is_known: bool
) -> None:
    """Of ten, where seven shares are a secret and one holder may lie; it reveals none of its own."""
    terms = SumTerms(fewest=2, corrupted=0.1, dropped=0.2, adversary="curious")
    assert terms.graph(10).threshold == 7
    found = collect(10, LAYOUT, terms)
    other = masks.commitment(bytes(32))
    members = [
        msgspec.structs.replace(one, commitment=other) if place == 0 else one
        for place, one in enumerate(found.found.members)
    ]
    told = {place: found.revealed[place] for place in range(1, 1 + revealing)}
    with pytest.raises(WireError) as caught:
        recovered(found._replace(found=found.found._replace(members=tuple(members))), terms, revealed=told)
    assert caught.value.code == "secure_sum.wrong_share"
    assert isinstance(caught.value, recovery.LyingDealer) is is_known
    if isinstance(caught.value, recovery.LyingDealer):
        assert caught.value.place == 0


def test_too_many_wrong_shares_are_an_error_that_names_whose_they_are() -> None:
    found = collect(5, LAYOUT)
    owner = found.survivors[0]
    lies = {
        place: [msgspec.structs.replace(one, share=WRONG) if one.owner == owner else one for one in shares]
        for place, shares in found.revealed.items()
    }
    with pytest.raises(WireError, match=found.found.members[owner].device) as caught:
        recovered(found, EASY, revealed=lies)
    assert caught.value.code == "secure_sum.wrong_share"
    assert isinstance(caught.value, recovery.LyingDealer)  # four who conspire are more than the terms bear


def test_a_lost_member_whose_key_is_not_what_its_shares_give_ends_the_sum() -> None:
    found = collect(6, LAYOUT, before_vector=[1])
    key = masks.public_key(bytes(32))
    members = tuple(
        msgspec.structs.replace(one, mask=key) if place == 1 else one for place, one in enumerate(found.found.members)
    )
    changed = found._replace(found=found.found._replace(members=members))
    with pytest.raises(WireError) as caught:
        recovered(changed, EASY)
    assert caught.value.code == "secure_sum.wrong_share"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"survivors": [0, 0, 1, 2, 3]}, "secure_sum.wrong_survivors"),
        ({"shared": {0, 1, 2}}, "secure_sum.wrong_survivors"),
        ({"survivors": [3]}, "secure_sum.too_few"),
        ({"revealed": {}}, "secure_sum.too_few_shares"),
    ],
)
def test_what_is_no_sum(changes: dict[str, object], code: str) -> None:
    with pytest.raises(WireError) as caught:
        recovered(collect(5, LAYOUT), EASY, **changes)
    assert caught.value.code == code
