"""Google's Speech Commands (Warden 2018): WORD/SPEAKER_nohash_NUMBER.wav, a second each, 16 kHz, 16 bits, one channel.

A speaker says a word several times in a row: divided at random, nearly the same recording is on both sides, and divided
by recording instead of by speaker, people are known whom the model claims to meet for the first time.
"""

import wave
from pathlib import Path

import numpy as np

from coterie_recipes.keyword.bands import HERTZ, bands, one_second
from coterie_recipes.keyword.generator import KEYWORDS, NONE
from coterie_recipes.recipe import Read, Samples, UnreadableData, divided

MARK = "_nohash_"


def read(path: Path) -> Read:
    """By speaker, its recordings; words that are no keyword are the last class. Raises UnreadableData."""
    by_speaker: dict[str, list[tuple[int, str, Path]]] = {}
    for file in path.glob("*/*.wav"):
        speaker, mark, number = file.stem.partition(MARK)
        if mark and number.isdecimal():
            by_speaker.setdefault(speaker, []).append((int(number), file.parent.name, file))
    if not by_speaker:
        raise UnreadableData(f"{path} has no recordings in it: WORD/SPEAKER{MARK}NUMBER.wav")
    found = {}
    for speaker, recordings in by_speaker.items():
        recordings.sort(key=lambda one: one[:2])
        x = np.stack([bands(one_second(_sound(file))) for _, _, file in recordings])
        labels = [KEYWORDS.index(word) if word in KEYWORDS[:NONE] else NONE for _, word, _ in recordings]
        found[speaker] = divided(Samples(x, np.array(labels, np.int64)))
    return found


def _sound(file: Path) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """In -1..1."""
    try:
        with wave.open(str(file), "rb") as opened:
            kind = (opened.getnchannels(), opened.getsampwidth(), opened.getframerate())
            if kind != (1, 2, HERTZ):
                raise UnreadableData(f"{file} has {kind[0]} channels of {8 * kind[1]} bits at {kind[2]} Hz")
            content = opened.readframes(opened.getnframes())
    except (OSError, wave.Error, EOFError) as error:
        raise UnreadableData(f"{file}: {error}") from error
    return np.frombuffer(content, "<i2").astype(np.float64) / 32768
