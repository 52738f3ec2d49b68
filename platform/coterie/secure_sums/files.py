"""Where masked vectors lie, while they arrive and afterwards."""

from coterie.registry.content import ContentStore
from coterie.storage.arrivals import Arrivals

VECTORS = Arrivals("vectors")
"""Those on their way, by assignment."""


def vectors_of(cohort: int) -> ContentStore:
    """The masked vectors of a cohort, beside its updates, so that they go together."""
    return ContentStore("updates", folder=f"{cohort}/masked")
