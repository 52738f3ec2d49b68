"""What plans have leave a device, and what goes beyond an owner's word: examples for clients in other languages."""

import json
from itertools import chain, combinations

from coterie_learning.consent import FEDERATION, LABELS, SCOPES, WORDS, Scope, description_of, not_covered
from coterie_learning.device_plan import HELP, PRIVACY, scopes_of

OF_LATER = "of_later"
"""A kind that nobody has."""


def consent_vectors() -> bytes:
    """As JSON."""
    sets: list[tuple[Scope, ...]] = list(
        chain.from_iterable(combinations(SCOPES, count) for count in range(len(SCOPES) + 1))
    )
    document = {
        "words": WORDS,
        "federation": description_of(f"{FEDERATION}NAME"),
        "labels": description_of(LABELS),
        "scopes": [
            {"privacy": privacy, "help": help_, "scopes": scopes_of(privacy, help_)}
            for privacy in (*sorted(PRIVACY.kinds), OF_LATER)
            for help_ in (*sorted(HELP.kinds), OF_LATER)
        ],
        "beyond": [
            {"agreed": agreed, "asked": asked, "beyond": not_covered(agreed, asked)}
            for agreed in sets
            for asked in sets
        ],
    }
    return json.dumps(document).encode() + b"\n"
