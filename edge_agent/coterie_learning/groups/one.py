"""One group: a single lineage of models serves every device."""

from typing import ClassVar

from coterie_learning.grouping.distances import ModelOutputs
from coterie_learning.groups import Grouping, Groups


class One(Groups, frozen=True, tag="one"):
    """All devices share one model."""

    divides: ClassVar[bool] = False

    def split(self, outputs: ModelOutputs) -> Grouping:
        return Grouping((0,) * len(outputs), (0,) if len(outputs) else (), {}, "the plan asks for one group")
