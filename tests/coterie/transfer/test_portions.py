"""What a helper sends is verified before anybody else sees it."""

import hashlib

import numpy as np
import pytest

from coterie.core.errors import CoterieError
from coterie.transfer import portions
from coterie.transfer.advancing import sweep
from coterie.transfer.files import ARRIVING, portion_of
from coterie.transfer.models import Transfer
from coterie.transfer.tidying import tidy
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_wire.errors import WireError
from coterie_wire.helping import OfferPortion
from tests.coterie.transfer.peers import KNOWS_2, Member, make_peers, portion
from tests.coterie.world import later

pytestmark = pytest.mark.django_db


@pytest.fixture
def helper() -> Member:
    """It has been told to serve."""
    make_peers()
    target, helper = Member("target"), Member("helper")
    for member in (target, helper):
        member.check_in(later(0))
    helper.tell(KNOWS_2, later(0))
    target.ask(1, later(1))
    sweep(now=later(1))
    helper.check_in(later(1))
    return helper


def encoded(rows: np.ndarray, biases: np.ndarray) -> bytes:
    return Float32Codec().pack({"rows": rows, "biases": biases})


ROWS, BIASES = np.zeros((1, 4), np.float32), np.zeros(1, np.float32)
BAD = {
    "no file": (b"not a tensor file", "update.malformed"),
    "truncated": (portion()[:-1], "update.malformed"),
    "more rows": (portion(classes=2), "update.wrong_shape"),
    "without biases": (Float32Codec().pack({"rows": ROWS}), "update.wrong_shape"),
    "not finite": (encoded(np.full((1, 4), np.inf, np.float32), BIASES), "update.not_finite"),
    "another codec": (Int8().encode({"rows": ROWS, "biases": BIASES}, seed=0).payload, "update.wrong_codec"),
}


@pytest.mark.parametrize(("content", "code"), BAD.values(), ids=BAD)
def test_a_bad_portion_ends_its_transfer_and_reaches_nobody(helper: Member, content: bytes, code: str) -> None:
    transfer = Transfer.objects.get()
    with pytest.raises((WireError, CoterieError)) as caught:
        helper.serve(str(transfer.pk), later(2), content)
    assert caught.value.code == code
    transfer.refresh_from_db()
    assert (transfer.state, transfer.reason_code) == ("rejected", code)
    with pytest.raises(FileNotFoundError):
        portion_of(transfer.pk).open(hashlib.sha256(content).hexdigest())


def test_a_portion_that_cannot_be_one_is_refused_before_it_is_sent(helper: Member) -> None:
    transfer = Transfer.objects.get()
    offer = OfferPortion(str(transfer.pk), "0" * 64, 1 << 20)
    with pytest.raises(CoterieError) as caught:
        portions.offer_portion(device=helper.row, offer=offer, now=later(2))
    assert caught.value.code == "transfer.too_large"


def test_an_upload_goes_on_where_it_broke_off_and_another_begins_anew(helper: Member) -> None:
    transfer, content = Transfer.objects.get(), portion()
    offer = OfferPortion(str(transfer.pk), hashlib.sha256(content).hexdigest(), len(content))
    assert portions.offer_portion(device=helper.row, offer=offer, now=later(2)).offset == 0
    sent(transfer, content[:50], as_hash=offer.sha256)
    assert portions.complete_upload(helper.row, str(transfer.pk), later(2)).offset == 50
    assert portions.offer_portion(device=helper.row, offer=offer, now=later(2)).offset == 50
    other = portion(1)
    assert helper.serve(str(transfer.pk), later(3), other).accepted
    with portion_of(transfer.pk).open(hashlib.sha256(other).hexdigest()) as file:
        assert file.read() == other


def test_what_was_announced_otherwise_is_refused(helper: Member) -> None:
    transfer, content = Transfer.objects.get(), portion()
    offer = OfferPortion(str(transfer.pk), "0" * 64, len(content))
    portions.offer_portion(device=helper.row, offer=offer, now=later(2))
    sent(transfer, content, as_hash="0" * 64)
    with pytest.raises(CoterieError) as caught:
        portions.complete_upload(helper.row, str(transfer.pk), later(2))
    assert caught.value.code == "upload.wrong_hash"


def test_what_a_killed_process_left_behind_is_removed(helper: Member) -> None:
    transfer = Transfer.objects.get()
    helper.serve(str(transfer.pk), later(2))
    tidy(now=later(3))
    with portion_of(transfer.pk).open(transfer_hash()) as file:
        assert file.read() == portion()
    Transfer.objects.update(state="withdrawn")
    sent(transfer, b"half", as_hash="0" * 64)
    tidy(now=later(3))
    assert ARRIVING.keys() == set()
    with pytest.raises(FileNotFoundError):
        portion_of(transfer.pk).open(transfer_hash())


def sent(transfer: Transfer, content: bytes, *, as_hash: str) -> None:
    """Bytes that arrived, with nobody to complete them."""
    assert ARRIVING.store.create(f"{transfer.pk}/{as_hash}/{0:015}", content)


def transfer_hash() -> str:
    return hashlib.sha256(portion()).hexdigest()
