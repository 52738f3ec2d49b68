"""People who speak: seven words of two syllables, or none, as a second of sound with the resonances of a vocal tract.

A word is a path of three formants; people have vocal tracts of different length, a pitch, a rate and an accent that
shifts single vowels, and are recorded in rooms of their own. The eighth class is noise, and words that are not meant.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from coterie_recipes.keyword.bands import HERTZ, bands
from coterie_recipes.recipe import Person, Samples, divided

Float64 = NDArray[np.float64]
KEYWORDS = ("yes", "no", "up", "down", "left", "right", "stop", "none of them")
NONE = len(KEYWORDS) - 1
SAID = 104
"""Recordings of one person."""
CONCENTRATION = 1.0
TRACT_SPREAD, ACCENT_SPREAD = 0.09, 0.07
FORMANTS = 3
_FORMANTS_HZ = np.random.default_rng(7).uniform((280, 900, 2100), (850, 2200, 3200), (len(KEYWORDS), 2, FORMANTS))
"""[words, begin and end, formants]: what everybody means by a word."""


class Voice(NamedTuple):
    """What stays the same of one person."""

    tract: float
    """Factor of all formants: shorter tracts resound higher."""
    accent: Float64
    """[words, 2, formants]: factors of single ones."""
    pitch_hz: float
    rate: float
    signal_db: float
    """Of the voice over the room's noise."""
    room: float
    """How dark the room's noise is, 0 to 1."""


def draw(seed: int, number: int) -> Person:
    """Person `number` of the population of `seed`."""
    rng = np.random.default_rng([seed, number])
    voice = Voice(
        tract=float(rng.normal(1, TRACT_SPREAD)),
        accent=np.exp(rng.normal(0, ACCENT_SPREAD, _FORMANTS_HZ.shape)),
        pitch_hz=float(rng.uniform(90, 230)),
        rate=float(np.exp(rng.normal(0, 0.15))),
        signal_db=float(rng.uniform(3, 18)),
        room=float(rng.uniform(0, 0.95)),
    )
    says = rng.dirichlet(np.full(len(KEYWORDS), CONCENTRATION))
    labels = rng.choice(len(KEYWORDS), SAID, p=says)
    x = np.stack([bands(_sound(voice, int(label), rng)) for label in labels])
    return divided(Samples(x, labels.astype(np.int64)))


def _sound(voice: Voice, word: int, rng: np.random.Generator) -> Float64:
    """One second in -1..1."""
    noise = _coloured(rng.normal(size=HERTZ), voice.room)
    if word == NONE and rng.random() < 0.5:
        return 0.1 * noise
    path = rng.uniform((280, 900, 2100), (850, 2200, 3200), (2, FORMANTS)) if word == NONE else _FORMANTS_HZ[word]
    path = path * voice.tract * (1 if word == NONE else voice.accent[word])
    long = int(HERTZ * np.clip(0.55 * voice.rate * np.exp(rng.normal(0, 0.1)), 0.3, 0.9))
    along = np.linspace(0, 1, long)[:, None]
    hertz = (path[0] * (1 - along) + path[1] * along) * np.exp(rng.normal(0, 0.02, FORMANTS))
    loud = np.array([1.0, 0.6, 0.35]) * np.exp(rng.normal(0, 0.2, FORMANTS))
    carried = (loud * np.sin(2 * np.pi * np.cumsum(hertz, axis=0) / HERTZ)).sum(axis=1)
    pulses = 0.6 + 0.4 * np.sin(2 * np.pi * voice.pitch_hz * np.arange(long) / HERTZ)
    syllables = np.sin(np.pi * along[:, 0]) * (0.7 + 0.3 * np.cos(4 * np.pi * along[:, 0]))
    spoken = carried * pulses * syllables
    sound = 10 ** (-voice.signal_db / 20) * spoken.std() * noise
    begins = int(rng.integers(0, HERTZ - long))
    sound[begins : begins + long] += spoken
    scaled: Float64 = 0.2 * sound
    return scaled


def _coloured(white: Float64, dark: float) -> Float64:
    """`white` noise whose high frequencies are the weaker the more `dark`, with deviation 1."""
    spectrum = np.fft.rfft(white)
    coloured = np.fft.irfft(spectrum / (1 + np.arange(len(spectrum)) / 400) ** dark, len(white))
    scaled: Float64 = coloured / coloured.std()
    return scaled
