"""Primitives are those of the standards; what derives from them differs by purpose, list, direction and both keys."""

import hashlib
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
)
from nacl.exceptions import CryptoError
from nacl.utils import randombytes_deterministic

from coterie_learning.secure_sum.masks import (
    DRAWN,
    add_mask,
    commitment,
    is_key,
    pair_seed,
    public_key,
    seal,
    unseal,
)
from coterie_wire.errors import WireError

ALICE = bytes.fromhex("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
BOB = bytes.fromhex("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
ALICES = bytes.fromhex("8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a")
BOBS = bytes.fromhex("de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f")
AGREED = bytes.fromhex("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
DIGEST = bytes(range(32))
FIELD = 2**255 - 19
ORDER_8 = (
    "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
    "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
)
SMALL_ORDER = [
    (number | top << 255).to_bytes(32, "little")
    for number in (
        0,
        1,
        FIELD - 1,
        FIELD,
        FIELD + 1,
        *(int.from_bytes(bytes.fromhex(one), "little") for one in ORDER_8),
    )
    for top in (0, 1)
]


def test_agreement_is_that_of_rfc_7748() -> None:
    """§6.1."""
    assert (public_key(ALICE), public_key(BOB)) == (ALICES, BOBS)
    derived = hashlib.blake2b(b"coterie pair mask" + DIGEST + ALICES + BOBS, key=AGREED, digest_size=32).digest()
    assert pair_seed(ALICE, BOBS, DIGEST) == pair_seed(BOB, ALICES, DIGEST) == derived


def test_boxes_are_of_the_cipher_of_rfc_8439() -> None:
    """§2.8.2, and the key and nonce that a box has."""
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen would "
    )
    known, key = bytes.fromhex("50515253c0c1c2c3c4c5c6c7"), bytes(range(0x80, 0xA0))
    nonce = bytes.fromhex("070000004041424344454647")
    sealed = crypto_aead_chacha20poly1305_ietf_encrypt(text + b"be it.", known, nonce, key)
    assert sealed.hex().startswith("d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6")
    assert sealed[-16:].hex() == "1ae10b594f09e26a7e902ecbd0600691"

    box = seal(bytes(66), secret=ALICE, to=BOBS, digest=DIGEST)
    what = b"coterie box of shares" + DIGEST + ALICES + BOBS
    key = hashlib.blake2b(what, key=AGREED, digest_size=32).digest()
    assert crypto_aead_chacha20poly1305_ietf_decrypt(box, DIGEST, bytes(12), key) == bytes(66)


def test_masks_are_the_stream_of_rfc_8439() -> None:
    """The generator is ChaCha20 with a nonce of its own; a cipher's text of zeros is that stream from block 1 on."""
    drawn = np.zeros(2 * DRAWN, np.uint32)
    add_mask(drawn, BOB, "numbers")
    for block in (0, 1):
        key = hashlib.blake2b(f"numbers\n{block}".encode(), key=BOB, digest_size=32).digest()
        stream = crypto_aead_chacha20poly1305_ietf_encrypt(bytes(1000), b"", b"LibsodiumDRG", key)[:1000]
        assert randombytes_deterministic(1064, key)[64:] == stream
        begun = drawn[block * DRAWN :].astype("<u4").tobytes()
        assert begun[64:1064] == stream


@given(st.data())
@settings(max_examples=30, deadline=None)
def test_a_span_has_the_mask_of_the_whole(data: st.DataObject) -> None:
    kind = data.draw(st.sampled_from([np.uint16, np.uint32, np.uint64]))
    count = data.draw(st.integers(1, 2 * DRAWN + 100))
    start = data.draw(st.integers(0, count - 1))
    stop = data.draw(st.integers(start + 1, count))
    whole, span = np.zeros(count, kind), np.zeros(stop - start, kind)
    add_mask(whole, ALICE, "numbers")
    add_mask(span, ALICE, "numbers", start)
    np.testing.assert_array_equal(span, whole[start:stop])
    add_mask(span, ALICE, "numbers", start, subtract=True)
    assert not span.any()


def test_masks_of_other_names_seeds_and_blocks_are_unrelated() -> None:
    drawn = []
    for seed, name, start in [
        (ALICE, "numbers", 0),
        (ALICE, "tail", 0),
        (BOB, "numbers", 0),
        (ALICE, "numbers", DRAWN),
    ]:
        numbers = np.zeros(DRAWN, np.uint16)
        add_mask(numbers, seed, name, start)
        drawn.append(numbers.astype(float))
    for one, other in itertools.combinations(drawn, 2):
        assert abs(np.corrcoef(one, other)[0, 1]) < 5 / DRAWN**0.5
    for numbers in drawn:
        counts = np.bincount((numbers // 256).astype(int), minlength=256)
        assert ((counts - DRAWN / 256) ** 2 / (DRAWN / 256)).sum() < 400


def test_what_derives_from_one_agreement_differs_by_purpose_and_list() -> None:
    other = bytes(32)
    assert len({pair_seed(ALICE, BOBS, DIGEST), pair_seed(ALICE, BOBS, other), commitment(ALICE), commitment(BOB)}) == 4


def test_a_key_in_disguise_shares_no_mask_and_no_box() -> None:
    """With the highest bit set it agrees on the same (RFC 7748, §5), as it does with a point of small order added."""
    disguised = BOBS[:-1] + bytes([BOBS[-1] | 0x80])
    assert crypto_scalarmult(ALICE, disguised) == crypto_scalarmult(ALICE, BOBS)
    assert pair_seed(ALICE, disguised, DIGEST) != pair_seed(ALICE, BOBS, DIGEST)
    one, other = (seal(bytes(66), secret=ALICE, to=key, digest=DIGEST) for key in (BOBS, disguised))
    assert one != other
    assert unseal(one, secret=BOB, sender=ALICES, digest=DIGEST) == bytes(66)
    with pytest.raises(WireError):
        unseal(other, secret=BOB, sender=ALICES, digest=DIGEST)


@pytest.mark.parametrize("key", SMALL_ORDER, ids=bytes.hex)
def test_keys_of_small_order_are_none(key: bytes) -> None:
    assert not is_key(key)
    with pytest.raises((CryptoError, RuntimeError)):
        crypto_scalarmult(ALICE, key)
    with pytest.raises(WireError) as caught:
        pair_seed(ALICE, key, DIGEST)
    assert caught.value.code == "secure_sum.wrong_key"


@given(st.binary(min_size=32, max_size=32))
def test_others_are_keys(secret: bytes) -> None:
    assert is_key(public_key(secret))


def test_a_box_opens_for_its_receiver_from_its_sender_in_its_list_alone() -> None:
    content, carol = b"two shares", bytes([9] * 32)
    box = seal(content, secret=ALICE, to=BOBS, digest=DIGEST)
    assert unseal(box, secret=BOB, sender=ALICES, digest=DIGEST) == content
    flipped = bytes([box[0] ^ 1]) + box[1:]
    for wrong in (
        {"box": flipped},
        {"secret": carol},
        {"secret": ALICE, "sender": BOBS},  # back to the sender
        {"sender": public_key(carol)},
        {"digest": bytes(32)},
    ):
        right = {"box": box, "secret": BOB, "sender": ALICES, "digest": DIGEST}
        with pytest.raises(WireError) as caught:
            unseal(**{**right, **wrong})
        assert caught.value.code == "secure_sum.wrong_box"
