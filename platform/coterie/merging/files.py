"""Where accepted updates are stored."""

from coterie.registry.content import ContentStore


def updates_of(cohort: int) -> ContentStore:
    """The accepted updates of a cohort; a store of its own, so that all are removed at once after the cohort ended."""
    return ContentStore("updates", folder=str(cohort))
