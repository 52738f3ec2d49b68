"""What the demo found, as a table for people and JSON for programs."""

from collections.abc import Sequence

import msgspec
from rich.table import Table

from coterie.demo.screen import size
from coterie.demo.view import RoundRow


class Accuracy(msgspec.Struct, frozen=True):
    """On held-out digits, as a share of 1."""

    bootstrap: float
    alone_mean: float
    federation: float
    central: float


class UpdateBytes(msgspec.Struct, frozen=True):
    """Mean size of one device's update, everything in it counted."""

    int8: float
    float32: float


class Recovery(msgspec.Struct, frozen=True):
    """From the first batch with a new digit until a device was as good as before."""

    batches: int
    seconds: float

    @property
    def words(self) -> str:
        """For people."""
        return f"{self.batches} batch{'' if self.batches == 1 else 'es'}, {self.seconds:.0f} s"


class Newcomer(msgspec.Struct, frozen=True):
    """What became of two devices that met a digit which they had never seen."""

    digit: int
    helped: Recovery | None
    """The one whose peers help it; None: it had not recovered when the demo ended."""
    alone: Recovery | None
    helper: str | None
    """Who helped it; None: nobody, or what came was undone."""
    portion_bytes: int | None
    waited_batches: int
    """Batches with the new digit that the two were given."""

    def took(self, recovery: Recovery | None) -> str:
        """One of the two, for people."""
        return f"not within {self.waited_batches} batches" if recovery is None else recovery.words


class PhoneShare(msgspec.Struct, frozen=True):
    """What the phone in a browser had of the rounds."""

    invited: int
    """Rounds that it was invited to."""
    counted: int
    """Rounds in which its update counts."""

    @classmethod
    def of(cls, rounds: Sequence[RoundRow], name: str) -> "PhoneShare":
        """The device of that name among the `rounds`."""
        parts = [part for row in rounds for part in row.assignments if part.device_name == name]
        return cls(invited=len(parts), counted=sum(part.delivered is not None for part in parts))


class Report(msgspec.Struct, frozen=True):
    """The demo's outcome."""

    accuracy: Accuracy
    update_bytes: UpdateBytes
    newcomer: Newcomer
    phone: PhoneShare | None
    """None: agents alone took part."""
    rounds_published: int
    dropouts: int
    """Devices that were invited to a round and did not deliver."""
    seconds: float
    """From the demo's start to this report."""

    def table(self) -> Table:
        """For the terminal."""
        table = Table(title="Accuracy on held-out digits", title_justify="left", box=None, show_header=False)
        table.add_column(no_wrap=True)
        table.add_column(justify="right")
        accuracy, sizes = self.accuracy, self.update_bytes
        table.add_row("model the fleet starts from", f"{accuracy.bootstrap:.1%}")
        table.add_row("each device alone (mean)", f"{accuracy.alone_mean:.1%}")
        table.add_row("[bold]the federation", f"[bold]{accuracy.federation:.1%}")
        table.add_row("all data in one place", f"{accuracy.central:.1%}")
        table.add_section()
        newcomer = self.newcomer
        by = (
            "with help"
            if newcomer.helper is None
            else f"with {size(newcomer.portion_bytes or 0)} from {newcomer.helper}"
        )
        table.add_row(f"a {newcomer.digit} never seen before, until as good as before:")
        table.add_row(f"[bold]  {by}", f"[bold]{newcomer.took(newcomer.helped)}")
        table.add_row("  alone", newcomer.took(newcomer.alone))
        table.add_section()
        table.add_row("an update, int8", f"{size(sizes.int8)} ({sizes.int8 / sizes.float32:.2f} of float32)")
        table.add_row("an update, float32", size(sizes.float32))
        if self.phone is not None:
            table.add_row("updates from the phone's browser", f"{self.phone.counted} of {self.phone.invited} rounds")
        table.add_row("rounds published", str(self.rounds_published))
        table.add_row("drop-outs", str(self.dropouts))
        table.add_row("time", f"{self.seconds:.0f} s")
        return table
