"""One group: a single lineage of models serves every device."""

from coterie.learning.groups import Grouping, Groups
from coterie_wire.codec import Float32


class One(Groups, frozen=True, tag="one"):
    """All devices share one model."""

    def split(self, outputs: Float32) -> Grouping:
        return Grouping((0,) * len(outputs), (0,) if len(outputs) else (), {}, "the plan asks for one group")
