"""On how many examples a property is tried: on few in every run of the suite, on more in ``make test-long``."""

from hypothesis import settings

FEW, MANY = "few", "many"
"""Profiles: the same examples on every run, and as long as a busy machine needs."""


def register_profiles() -> None:
    """Before any test is read. What says no number of its own is tried on 40 and on 100."""
    settings.register_profile(FEW, settings.get_profile("ci"), max_examples=40)
    settings.register_profile(MANY, settings.get_profile("ci"), max_examples=100)


def examples(few: int, many: int) -> int:
    """How many of a property whose examples are dear, under the profile of this run."""
    return many if settings.get_current_profile_name() == MANY else few
