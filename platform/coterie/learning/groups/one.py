"""One group: a single lineage of models serves every device."""

from coterie.learning.groups import Grouping, Groups, Said


class One(Groups, frozen=True, tag="one"):
    """All devices share one model."""

    def split(self, outputs: Said) -> Grouping:
        return Grouping((0,) * len(outputs), (0,) if len(outputs) else (), {}, "the plan asks for one group")
