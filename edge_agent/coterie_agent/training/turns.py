"""What a plan's noise asks of the device: its turn in a stream of releases, and its budget, by its own account."""

from coterie_agent.errors import AgentError
from coterie_agent.store.work import StreamPart, WorkStore
from coterie_learning.merge import Cohort
from coterie_learning.privacy import Privacy
from coterie_wire.messages import Assignment


def stream_part(assignment: Assignment, privacy: Privacy) -> StreamPart | None:
    """The part that `assignment` asks for; None: the plan's releases are no stream.

    Raises AgentError ``privacy.not_numbered`` if it does not say in which release.
    """
    stream = privacy.stream()
    if stream is None:
        return None
    if assignment.stream_index is None:
        detail = "the plan's noise hides parts that are apart, and the platform did not number this one"
        raise AgentError("privacy.not_numbered", detail)
    return StreamPart(assignment.federation, stream.apart, assignment.stream_index)


def release_cost(privacy: Privacy) -> tuple[float, int] | None:
    """Noise multiplier and participations of one release of the device; None: its guarantee, if any, is not spent."""
    spent = privacy.spend(Cohort(1, 1))
    return None if spent is None else (spent.noise_multiplier, spent.participations)


def check_turn(assignment: Assignment, privacy: Privacy, work: WorkStore) -> None:
    """Raises AgentError ``privacy.too_soon`` where the part is too near to another, or ``privacy.not_numbered``.

    A number that is offered again is that of a round that came to nothing; one before it, that of a platform that has
    lost count.
    """
    part = stream_part(assignment, privacy)
    if part is None:
        return
    latest = work.latest_part(part.federation, part.apart, but=assignment.assignment)
    if latest is None or part.number == latest or part.number - latest >= part.apart:
        return
    detail = f"the plan's noise hides parts that are {part.apart} releases apart"
    detail += f"; this one is number {part.number}, and the device was in number {latest}"
    raise AgentError("privacy.too_soon", detail)
