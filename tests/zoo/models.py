"""Device models of every kind that the compiler covers, shared by tests and benchmarks."""

from collections.abc import Mapping

from torch import nn

from coterie.compile.recipe.loss.binary_cross_entropy import BinaryCrossEntropy
from coterie.compile.recipe.loss.mean_squared_error import MeanSquaredError
from coterie.compile.recipe.loss.next_token import NextToken
from coterie_wire.length import Length
from tests.zoo import sequences, tables, vision
from tests.zoo.entry import Entry, Indices, Numbers, Sentences

CLASSES = 10
ACTIVITIES = 6
IMAGE = (Numbers((3, 32, 32)),)
DIGIT = (Numbers((1, 28, 28)),)
WORDS = 2000


ZOO: Mapping[str, Entry] = {
    # 561 features are those of the smartphone data set of Anguita et al. 2013.
    "mlp": Entry(lambda: tables.mlp(561, ACTIVITIES), (Numbers((561,)),), ACTIVITIES),
    "lenet": Entry(lambda: vision.lenet(CLASSES), DIGIT, CLASSES),
    # At 0.05 one near tie of a pool is decided otherwise, and the parameters part by 2e-4.
    "cnn_max_pool": Entry(lambda: vision.cnn_max_pool(CLASSES), DIGIT, CLASSES, learning_rate=0.02),
    "cnn_strided": Entry(lambda: vision.cnn_strided(CLASSES), IMAGE, CLASSES),
    "cnn_avg_pool": Entry(lambda: vision.cnn_avg_pool(CLASSES), DIGIT, CLASSES),
    "cnn_overlapping_pool": Entry(lambda: vision.cnn_overlapping_pool(CLASSES), IMAGE, CLASSES),
    "cnn_depthwise": Entry(lambda: vision.cnn_depthwise(CLASSES), IMAGE, CLASSES),
    "cnn_grouped": Entry(lambda: vision.cnn_grouped(CLASSES), IMAGE, CLASSES),
    # At higher rates PyTorch's own float32 leaves its float64 by more than 1e-4: rectifiers make deep models chaotic.
    "resnet": Entry(lambda: vision.resnet(CLASSES, nn.BatchNorm2d), IMAGE, CLASSES, learning_rate=0.0005),
    "mobilenet": Entry(lambda: vision.mobilenet(CLASSES, nn.BatchNorm2d), IMAGE, CLASSES, learning_rate=0.005),
    "cnn_windows": Entry(lambda: vision.cnn_windows(ACTIVITIES), (Numbers((3, 128)),), ACTIVITIES, learning_rate=0.02),
    "autoencoder": Entry(vision.autoencoder, IMAGE, 3 * 32 * 32),
    "pyramid": Entry(lambda: vision.Pyramid(CLASSES), IMAGE, CLASSES, learning_rate=0.01),
    "gru": Entry(lambda: sequences.Recurrent(nn.GRU, WORDS, 64, 96), (Indices((20,), WORDS),), WORDS),
    "lstm": Entry(lambda: sequences.TiedRecurrent(WORDS, 64, 96), (Indices((20,), WORDS),), WORDS),
    "encoder": Entry(lambda: sequences.Encoder(CLASSES, WORDS, 32, 64, 2), (Indices((32,), WORDS),), CLASSES),
    "causal_transformer": Entry(lambda: sequences.CausalTransformer(WORDS, 32, 64, 2), (Indices((32,), WORDS),), WORDS),
    "recommender": Entry(
        lambda: tables.Recommender(1000, 2000, 5, 8), (Indices((), 1000), Indices((), 2000), Numbers((8,))), 5
    ),
}
"""Realistic sizes."""

OTHER_LOSSES: Mapping[str, Entry] = {
    "autoencoder": Entry(vision.autoencoder, IMAGE, 3 * 32 * 32, MeanSquaredError()),
    "gru": Entry(
        lambda: sequences.Recurrent(nn.GRU, WORDS, 64, 96, every=True), (Indices((20,), WORDS),), WORDS, NextToken()
    ),
    "causal_transformer": Entry(
        lambda: sequences.CausalTransformer(WORDS, 32, 64, 2, every=True), (Indices((32,), WORDS),), WORDS, NextToken()
    ),
    "recommender": Entry(
        lambda: tables.Recommender(1000, 2000, 1, 8),
        (Indices((), 1000), Indices((), 2000), Numbers((8,))),
        1,
        BinaryCrossEntropy(),
    ),
}
"""What of the same is trained otherwise than by classes: to give its input back, to tell every word, to tell clicks."""

FEW = 40


def words(longest: int, shortest: int = 1) -> Length:
    return Length(shortest, longest, {"words": 0})


OF_ANY_LENGTH: Mapping[str, Entry] = {
    "causal_transformer": Entry(
        lambda: sequences.CausalTransformer(WORDS, 32, 64, 2, every=True),
        (Indices((32,), WORDS),),
        WORDS,
        NextToken(),
        length=words(32),
    ),
    "gru": Entry(
        lambda: sequences.Recurrent(nn.GRU, WORDS, 64, 96, every=True),
        (Indices((20,), WORDS),),
        WORDS,
        NextToken(),
        length=words(20),
    ),
    "encoder": Entry(
        lambda: sequences.Encoder(CLASSES, WORDS, 32, 64, 2), (Sentences((32,), WORDS),), CLASSES, length=words(32)
    ),
}
"""Models that take sentences of different length."""

SMALL_OF_ANY_LENGTH: Mapping[str, Entry] = {
    "causal_transformer": Entry(
        lambda: sequences.CausalTransformer(FEW, 9, 16, 1, every=True),
        (Indices((9,), FEW),),
        FEW,
        NextToken(),
        length=words(9),
    ),
    "lstm": Entry(
        lambda: sequences.Recurrent(nn.LSTM, FEW, 8, 12, every=True),
        (Indices((9,), FEW),),
        FEW,
        NextToken(),
        length=words(9),
    ),
    "rnn": Entry(
        lambda: sequences.Recurrent(nn.RNN, FEW, 8, 12, every=True),
        (Indices((9,), FEW),),
        FEW,
        NextToken(),
        length=words(9),
    ),
    "encoder": Entry(
        lambda: sequences.Encoder(CLASSES, FEW, 9, 16, 1), (Sentences((9,), FEW),), CLASSES, length=words(9)
    ),
}
"""The like, narrow."""

SMALL: Mapping[str, Entry] = {
    "mlp": Entry(lambda: tables.mlp(12, CLASSES, 8), (Numbers((12,)),), CLASSES),
    "lenet": Entry(lambda: vision.lenet(CLASSES, 6, 16), (Numbers((1, 16, 16)),), CLASSES),
    "cnn_max_pool": Entry(lambda: vision.cnn_max_pool(CLASSES, 4, 12), (Numbers((1, 12, 12)),), CLASSES),
    "cnn_strided": Entry(lambda: vision.cnn_strided(CLASSES, 4), (Numbers((3, 13, 13)),), CLASSES),
    "cnn_avg_pool": Entry(lambda: vision.cnn_avg_pool(CLASSES, 4), (Numbers((1, 20, 20)),), CLASSES),
    "cnn_overlapping_pool": Entry(lambda: vision.cnn_overlapping_pool(CLASSES, 4), (Numbers((3, 32, 32)),), CLASSES),
    "cnn_depthwise": Entry(lambda: vision.cnn_depthwise(CLASSES, 4), (Numbers((3, 12, 12)),), CLASSES),
    "cnn_grouped": Entry(lambda: vision.cnn_grouped(CLASSES, 8), (Numbers((3, 14, 14)),), CLASSES),
    "resnet": Entry(lambda: vision.resnet(CLASSES, nn.BatchNorm2d, 4, 2), (Numbers((3, 8, 8)),), CLASSES),
    "mobilenet": Entry(
        lambda: vision.mobilenet(CLASSES, nn.BatchNorm2d, 4, whole=False), (Numbers((3, 16, 16)),), CLASSES
    ),
    "cnn_windows": Entry(lambda: vision.cnn_windows(ACTIVITIES, 4), (Numbers((3, 24)),), ACTIVITIES),
    "autoencoder": Entry(lambda: vision.autoencoder(4), (Numbers((3, 8, 8)),), 3 * 8 * 8),
    "pyramid": Entry(lambda: vision.Pyramid(CLASSES, 4), (Numbers((3, 8, 8)),), CLASSES),
    "gru": Entry(lambda: sequences.Recurrent(nn.GRU, FEW, 8, 12), (Indices((5,), FEW),), FEW),
    "lstm": Entry(lambda: sequences.TiedRecurrent(FEW, 8, 12), (Indices((5,), FEW),), FEW),
    "encoder": Entry(lambda: sequences.Encoder(CLASSES, FEW, 6, 16, 1), (Indices((6,), FEW),), CLASSES),
    "causal_transformer": Entry(lambda: sequences.CausalTransformer(FEW, 6, 16, 1), (Indices((6,), FEW),), FEW),
    "recommender": Entry(
        lambda: tables.Recommender(20, 30, 5, 3, 8), (Indices((), 20), Indices((), 30), Numbers((3,))), 5
    ),
}
"""The same, as narrow as they can be and still meet every operator: for tests of many steps."""
