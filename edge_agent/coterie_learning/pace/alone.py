"""No rounds: every device learns by itself, as each does in Cartel (Daga et al. 2019, doi 10.1145/3357223.3362708)."""

from typing import Annotated

from msgspec import Meta

from coterie_learning.pace import Pace


class Alone(Pace, frozen=True, tag="alone"):
    """No device is invited; each trains on new samples as soon as its conditions allow."""

    period_s: Annotated[
        float, Meta(ge=0, le=3650 * 86_400, description="seconds between two trainings at least; 0: on every new batch")
    ] = 0.0

    def holds_rounds(self) -> bool:
        return False

    def rest_s(self) -> float:
        return self.period_s
