"""Where the updates that count lie."""

from coterie.registry.content import ContentStore


def updates_of(cohort: int) -> ContentStore:
    """The accepted updates of a cohort; a store of its own, so that all go at once, a while after the cohort ended."""
    return ContentStore("updates", folder=str(cohort))
