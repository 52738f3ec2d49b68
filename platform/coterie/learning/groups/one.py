"""One group: a single lineage of models serves every device."""

from coterie.learning.groups import Groups


class One(Groups, frozen=True, tag="one"):
    """All devices share one model."""
