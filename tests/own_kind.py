"""A test's module in place of a package with kinds that is installed and signed off."""

import pytest

from coterie_learning.custom_kinds import Offer


def count_as_own_kind(patch: pytest.MonkeyPatch, module: str) -> None:
    """From now on errors that pass through `module` are those of a kind of ``acme-kinds 1.0``."""
    offer = Offer("local", "acme_broken", "acme-kinds", "1.0", f"{module}:Broken")
    patch.setattr("coterie_learning.custom_kinds.signed_off_distributions", lambda: frozenset({"acme-kinds"}))
    patch.setattr("coterie_learning.custom_kinds.offers", lambda: [offer])
