"""The detectors that a plan can choose from, and their states, told apart by their tags."""

from typing import TypeAlias

from coterie_learning.drift.adwin import Adwin, AdwinState
from coterie_learning.drift.page_hinkley import PageHinkley, PageHinkleyState
from coterie_learning.drift.window import Window, WindowState

AnyDetector: TypeAlias = Window | PageHinkley | Adwin
AnyDriftState: TypeAlias = WindowState | PageHinkleyState | AdwinState
