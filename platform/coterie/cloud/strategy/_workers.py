"""How many workers a strategy may have."""

from typing import Annotated

from msgspec import Meta

MOST_WORKERS = 64
Workers = Annotated[
    int, Meta(ge=1, le=MOST_WORKERS, description="processes that train; as many as the host has cores to spare")
]
