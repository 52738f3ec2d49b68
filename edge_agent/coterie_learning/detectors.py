"""The drift detectors that a plan can choose from, and their states: one tagged type for each module of `drift`."""

from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, TypeAlias

from coterie_learning import drift
from coterie_learning.drift import Detector, DriftState
from coterie_learning.kinds import Registry, discover

DRIFT = Registry("drift", drift, Detector)
"""Kinds inside a kind: a detector is a hyperparameter of `help`."""

if TYPE_CHECKING:
    AnyDetector: TypeAlias = Detector
    AnyDriftState: TypeAlias = DriftState
else:  # the form that msgspec decodes by tag
    AnyDetector = reduce(or_, DRIFT.kinds.values())
    AnyDriftState = reduce(or_, discover(drift, DriftState).values())
