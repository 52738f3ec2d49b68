"""Two parties train as one process does, and a party that is killed anywhere goes on to the same bits."""

import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from coterie_learning.random import epoch_order
from coterie_learning.vertical.letters import Backward, Blinded, Divided, Done, Forward, Letter, bytes_of
from coterie_learning.vertical.party import Party, PartyState
from coterie_learning.vertical.protection import protect
from coterie_learning.vertical.terms import VerticalTerms
from coterie_recipes.two_parties.models import BATCH_SIZE, Lower, Upper
from coterie_wire.errors import WireError
from coterie_wire.structs import from_msgpack
from tests.two_parties import compiled_halves, hold_talks, parties, small_population

TERMS = VerticalTerms(epochs=2, learning_rate=0.05, noise=0, least_rows=50, seed=7)


@pytest.mark.long
def test_without_noise_it_is_training_in_one_process(tmp_path: Path) -> None:
    bank, insurer = parties(small_population(), TERMS, tmp_path)
    hold_talks(bank, insurer)
    lower, upper = Lower(), Upper()
    for module, compiled in zip((lower, upper), compiled_halves(), strict=True):
        module.load_state_dict({name: torch.tensor(value) for name, value in compiled.parameters.items()})
    train = np.frombuffer(insurer.standing.train, np.int64)
    beside, own = (np.frombuffer(party.standing.rows, np.int64)[train] for party in (bank, insurer))
    x, z = torch.tensor(bank.half._table.columns[beside]), torch.tensor(insurer.half._table.columns[own])
    y = torch.tensor(insurer.half.labels()[own])
    steps = torch.optim.SGD([*lower.parameters(), *upper.parameters()], lr=1, momentum=TERMS.momentum)
    for epoch in range(TERMS.epochs):
        for group in steps.param_groups:
            group["lr"] = TERMS.rate(epoch)
        order = epoch_order(len(train), TERMS.seed, epoch)
        for first in range(0, len(train), BATCH_SIZE):
            rows = order[first : first + BATCH_SIZE]
            steps.zero_grad()
            torch.nn.functional.cross_entropy(upper(z[rows], lower(x[rows])), y[rows]).backward()
            steps.step()
    for party, module in ((bank, lower), (insurer, upper)):
        for name, expected in module.state_dict().items():
            np.testing.assert_allclose(party.half.tensors()[f"param.{name}"], expected.numpy(), atol=2e-6)


def test_what_the_party_with_labels_reaches_alone_is_its_half_taught_with_zeros_at_the_cut(tmp_path: Path) -> None:
    bank, insurer = parties(small_population(), TERMS, tmp_path)
    hold_talks(bank, insurer)
    upper, compiled = Upper(), compiled_halves()[1]
    upper.load_state_dict({name: torch.tensor(value) for name, value in compiled.parameters.items()})
    rows = np.frombuffer(insurer.standing.rows, np.int64)
    train, held = (rows[np.frombuffer(part, np.int64)] for part in (insurer.standing.train, insurer.standing.held))
    table, labels = torch.tensor(insurer.half._table.columns), torch.tensor(insurer.half.labels())
    steps = torch.optim.SGD(upper.parameters(), lr=1, momentum=TERMS.momentum)

    def logits(of: np.ndarray) -> torch.Tensor:
        found: torch.Tensor = upper(table[of], torch.zeros(len(of), insurer.half.width))
        return found

    for epoch in range(TERMS.epochs):
        for group in steps.param_groups:
            group["lr"] = TERMS.rate(epoch)
        order = epoch_order(len(train), TERMS.seed, epoch)
        for first in range(0, len(train), BATCH_SIZE):
            batch = train[order[first : first + BATCH_SIZE]]
            steps.zero_grad()
            torch.nn.functional.cross_entropy(logits(batch), labels[batch]).backward()
            steps.step()
    right = (logits(held).argmax(1) == labels[held]).float().mean().item()
    assert insurer.standing.alone == pytest.approx(right, abs=1.5 / len(held))
    assert bank.standing.alone is None


def test_a_party_that_is_killed_after_any_letter_goes_on_to_the_same_bits(tmp_path: Path) -> None:
    terms = msgspec.structs.replace(TERMS, noise=1.0)
    whole = parties(small_population(), terms, tmp_path)
    hold_talks(*whole)
    killed = parties(small_population(), terms, tmp_path)
    draw = random.Random(5)

    def restart(_sender: int, _letter: Letter) -> None:
        for party in killed:
            if draw.random() < 0.3:
                standing, tensors = msgspec.msgpack.encode(party.standing), party.half.tensors()
                party.half.restore({name: np.full_like(tensor, np.nan) for name, tensor in tensors.items()})
                party.half.restore(tensors)
                party.standing = from_msgpack(standing, PartyState)

    hold_talks(*killed, seen=restart)
    for one, other in zip(whole, killed, strict=True):
        assert one.standing == other.standing
        for name, tensor in one.half.tensors().items():
            assert tensor.tobytes() == other.half.tensors()[name].tobytes()
    assert len(whole[1].standing.epochs) == terms.epochs


def test_people_without_a_label_are_predicted_and_never_trained_on(tmp_path: Path) -> None:
    population = small_population()
    needs = population.needs.copy()
    needs[::5] = -1
    bank, insurer = parties(population, TERMS, tmp_path, needs=needs)
    hold_talks(bank, insurer)
    rows, classes = insurer.predictions
    known = set(population.bank.identifiers)
    expected = {row for row in range(0, len(needs), 5) if population.insurer.identifiers[row] in known}
    assert set(rows.tolist()) == expected
    assert len(classes) == len(rows) and (classes >= 0).all()


def test_the_number_that_hid_the_people_is_forgotten_once_they_are_found(tmp_path: Path) -> None:
    bank, insurer = parties(small_population(), TERMS, tmp_path)
    secret = bank.standing.alignment.secret
    hold_talks(bank, insurer)
    assert secret not in msgspec.msgpack.encode(bank.standing)


def test_too_few_common_people_are_refused(tmp_path: Path) -> None:
    bank, insurer = parties(small_population(), VerticalTerms(least_rows=1000), tmp_path)
    with pytest.raises(WireError) as refused:
        hold_talks(bank, insurer)
    assert refused.value.code == "vertical.too_few"


HOSTILE: list[Letter] = [
    Backward(1, b""),
    Backward(0, bytes(4)),
    Forward("train", 0, b""),
    Forward("held", 0, bytes_of(np.full((3, 16), np.nan, np.float32))),
    Divided(b"\xff", b"", b""),
    Blinded(1, 0, b""),
    Done(),
]


@pytest.mark.parametrize("letter", HOSTILE, ids=lambda one: type(one).__name__)
def test_a_letter_that_is_not_owed_is_refused_and_changes_nothing(tmp_path: Path, letter: Letter) -> None:
    bank, insurer = parties(small_population(), TERMS, tmp_path)
    stop = []

    def at_first_step(_sender: int, seen: Letter) -> None:
        if isinstance(seen, Backward):
            stop.append(seen)
            raise StopIteration

    with pytest.raises(StopIteration):
        hold_talks(bank, insurer, seen=at_first_step)
    party: Party = bank if not isinstance(letter, Forward) else insurer
    before = party.standing
    with pytest.raises(WireError) as refused:
        party.receive(letter)
    assert refused.value.code.startswith("vertical.")
    assert party.standing is before


def test_noise_is_of_the_mean_length_and_the_same_when_it_is_drawn_again() -> None:
    gradient = np.random.default_rng(1).standard_normal((200, 16)).astype(np.float32)
    gradient[0] *= 1000
    first, again = (protect(gradient, noise=1.0, secret=b"k", number=3) for _ in range(2))
    assert first.tobytes() == again.tobytes()
    assert first.tobytes() != protect(gradient, noise=1.0, secret=b"k", number=4).tobytes()
    mean = np.linalg.norm(gradient, axis=1).mean()
    assert np.std(first - gradient, where=np.arange(200)[:, None] > 0) == pytest.approx(mean, rel=0.1)
    assert np.linalg.norm(first[0]) < 10 * mean
    assert protect(gradient, noise=0, secret=b"k", number=3) is gradient
