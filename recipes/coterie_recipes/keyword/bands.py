"""What the models hear: the logarithm of a second's energy in 20 mel bands, 40 times; NumPy alone, as on a device."""

import numpy as np
from numpy.typing import NDArray

Float64 = NDArray[np.float64]
HERTZ = 16_000
BANDS, FRAMES = 20, 40
_LONG = 512
_STARTS = np.linspace(0, HERTZ - _LONG, FRAMES).astype(np.int64)
_WINDOW = np.hanning(_LONG)
QUIET = 1e-4
"""Energy below which nothing is told apart."""


def _filters() -> Float64:
    """[frequencies, BANDS]: triangles of equal width on the mel scale (Stevens et al. 1937), 80 to 7,600 Hz."""
    mel = np.linspace(2595 * np.log10(1 + 80 / 700), 2595 * np.log10(1 + 7600 / 700), BANDS + 2)
    edges = 700 * (10 ** (mel / 2595) - 1)
    frequencies = np.fft.rfftfreq(_LONG, 1 / HERTZ)[:, None]
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    filters: Float64 = np.clip(np.minimum(rising, falling), 0, None)
    return filters


_FILTERS = _filters()


def bands(sound: Float64) -> NDArray[np.float32]:
    """float32 [BANDS, FRAMES] of a second of sound in -1..1, [HERTZ]; each recording's own mean is taken away."""
    frames = sound[_STARTS[:, None] + np.arange(_LONG)] * _WINDOW
    energy = np.abs(np.fft.rfft(frames, axis=1)) ** 2 @ _FILTERS
    logarithm = np.log(energy + QUIET)
    heard: NDArray[np.float32] = ((logarithm - logarithm.mean()) / 3).T.astype(np.float32)
    return heard


def one_second(sound: Float64) -> Float64:
    """The middle second of `sound`, filled up with silence on both sides where it is shorter."""
    missing = max(0, HERTZ - len(sound))
    sound = np.pad(sound, (missing // 2, missing - missing // 2))
    begins = (len(sound) - HERTZ) // 2
    return sound[begins : begins + HERTZ]
