"""No model beside the version: every device answers with what the federation has learned."""

from coterie_learning.personal import Personal


class NoPersonal(Personal, frozen=True, tag="none"):
    """Devices answer with the version, unless local training, rounds or help give them a personal model."""
