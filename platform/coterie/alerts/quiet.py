"""Quiet hours: a span of the day in a person's own time zone, which may go over midnight."""

from dataclasses import dataclass
from datetime import datetime, time
from zoneinfo import ZoneInfo


@dataclass(frozen=True)
class QuietHours:
    """From `begin` until before `end` by the clocks of `zone`, whatever its summer time does; equal: never."""

    begin: time
    end: time
    zone: ZoneInfo

    def at(self, moment: datetime) -> bool:
        """Whether it is quiet then."""
        clock = moment.astimezone(self.zone).time()
        if self.begin <= self.end:
            return self.begin <= clock < self.end
        return clock >= self.begin or clock < self.end
