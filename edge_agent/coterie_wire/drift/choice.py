"""The detectors that a plan can choose from, and their states, told apart by their tags."""

from typing import TypeAlias

from coterie_wire.drift.adwin import Adwin, AdwinState
from coterie_wire.drift.page_hinkley import PageHinkley, PageHinkleyState
from coterie_wire.drift.window import Window, WindowState

AnyDetector: TypeAlias = Window | PageHinkley | Adwin
AnyDriftState: TypeAlias = WindowState | PageHinkleyState | AdwinState
