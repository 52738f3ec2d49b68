"""The recipe that pre-trains: what a sample is with a label and without one, and what its model can know of it."""

import numpy as np
import torch

from coterie_recipes import load
from coterie_recipes.messages.generator import KINDS, LONGEST, MESSAGES, WORDS, draw, person_of
from coterie_recipes.messages.models import WORDS as OF_MODEL
from coterie_recipes.messages.models import DeviceModel

FIRST = 1 + len(KINDS)


def test_a_label_is_the_word_before_a_message_and_messages_are_their_own_targets() -> None:
    kinds = np.array([2, 0, 1, 3, 7, 6, 5, 4], np.int64)
    said = np.array([1, 0, 1, 0, 0, 0, 0, 0], bool)
    person = person_of([[FIRST + number] * (number + 1) for number in range(8)], kinds, said)
    assert person.train.x[:, :4].tolist() == [[0, 9, 0, 0], [0, 11, 11, 11]]
    assert person.train.y[:, 0].tolist() == [3, 2] and not person.train.y[:, 1:].any()
    assert person.pretrained_on.x.shape == (6, 1 + LONGEST)
    assert np.array_equal(person.pretrained_on.x, person.pretrained_on.y)
    assert not person.pretrained_on.y[:, 0].any(), "no kind is a target"
    assert person.truth.tolist() == [5, 4]


def test_messages_of_the_test_whose_kind_nobody_has_said_are_left_out() -> None:
    kinds = np.array([0, -1, 2, 3, -1, 5, -1, 7], np.int64)
    person = person_of([[FIRST]] * 8, kinds, kinds >= 0)
    assert person.truth.tolist() == [7] and len(person.test.y) == 1
    assert person.train.y[:, 0].tolist() == [1, 3, 4, 6]


def test_a_longer_message_is_cut() -> None:
    person = person_of([list(range(FIRST, FIRST + LONGEST + 5))] * 4, np.zeros(4, np.int64), np.ones(4, bool))
    assert person.train.x[0].tolist() == [0, *range(FIRST, FIRST + LONGEST)]


def test_words_are_within_the_models_and_few_messages_are_labelled() -> None:
    person = draw(0, 0)
    assert OF_MODEL == WORDS
    assert person.trained_on == MESSAGES * 3 // 4
    assert person.pretrained_on.x[person.pretrained_on.x > 0].min() >= FIRST
    assert person.pretrained_on.x.max() < WORDS


def test_what_a_place_is_told_from_are_the_other_words_alone() -> None:
    """Else a word would be told from itself, and nothing learned."""
    torch.manual_seed(0)
    model = DeviceModel().eval()
    message = torch.tensor([[0, 20, 30, 40] + [0] * 9])
    other = message.clone()
    other[0, 2] = 31
    first, second = model(message)[0], model(other)[0]
    assert torch.allclose(first[2], second[2], atol=1e-6), "the word that changed is not seen at its place"
    assert not torch.allclose(first[1], second[1], atol=1e-3)
    assert not torch.allclose(first[0], second[0], atol=1e-3)
    longer = torch.cat([message, torch.zeros(1, 5, dtype=torch.int64)], 1)
    assert torch.allclose(model(longer)[0, :4], first[:4], atol=1e-6), "where there is no word, there is nothing"


def test_the_kind_is_the_likeliest_of_the_kinds_at_the_first_place() -> None:
    recipe, person = load("messages"), draw(0, 1)
    outputs = np.zeros((len(person.truth), 1 + LONGEST, WORDS), np.float32)
    outputs[:, 0, FIRST:] = 9.0  # words, which are no kinds
    outputs[np.arange(len(person.truth)), 0, 1 + person.truth] = 1.0
    assert recipe.score(outputs, person) == 1.0
    outputs[:, 0, 1:FIRST] = np.roll(outputs[:, 0, 1:FIRST], 1, axis=1)
    assert recipe.score(outputs, person) == 0.0
