"""The keys of rows, as messages and requests name them."""

from uuid import UUID

from coterie.core.errors import CoterieError


def key_of(text: str, unknown: CoterieError) -> UUID:
    """The key that `text` is. Raises `unknown` where it is none, as where no row has it."""
    try:
        return UUID(text)
    except ValueError as error:
        raise unknown from error
