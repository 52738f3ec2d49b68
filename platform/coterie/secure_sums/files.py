"""Where masked vectors are stored, while they arrive and afterwards."""

from coterie.registry.content import ContentStore
from coterie.secure_sums.models import SecureSum
from coterie.storage.arrivals import Arrivals

VECTORS = Arrivals("vectors")
"""Vectors that are arriving, by assignment."""


def vectors_of(sum_: SecureSum) -> ContentStore:
    """Its masked vectors; those of a cohort are stored beside its updates, and removed with them."""
    return ContentStore("updates", folder=f"{sum_.pk if sum_.cohort is None else sum_.cohort}/masked")
