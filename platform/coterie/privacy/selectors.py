"""Queries on budgets: what has been spent of them, and what they still cover."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import F, FloatField, Max, Min, QuerySet, Sum, Value
from django.db.models.functions import Coalesce

from coterie.federations.models import Federation
from coterie.federations.selectors import members
from coterie.fleet.models import Device
from coterie.privacy.accounting import ROUNDING, cost_of, epsilon_of, most_of, releases_left
from coterie.privacy.models import DEFAULT_DELTA, DEFAULT_EPSILON, Account, Budget, Charge
from coterie.privacy.streams import releases_to_come, stream_of
from coterie_learning.merge import Cohort
from coterie_learning.plan import Plan

CURVE = 500
"""Most releases in a curve: the newest."""


@dataclass(frozen=True)
class Limit:
    """A budget, or the default where none was set."""

    epsilon: float = DEFAULT_EPSILON
    delta: float = DEFAULT_DELTA
    changed_at: datetime | None = None

    @property
    def mu2(self) -> float:
        return most_of(self.epsilon, self.delta)


def limit_of(owner: Federation | Device) -> Limit:
    """The budget of a federation or a device."""
    budget = _budget(owner)
    return Limit() if budget is None else Limit(budget.epsilon, budget.delta, budget.changed_at)


def cost_under(plan: Plan) -> float | None:
    """The cost of one release to each device in it; None: the plan gives no guarantee and spends nothing."""
    if not plan.pace.holds_rounds():
        return None
    spend = plan.privacy.spend(Cohort(plan.pace.devices_needed(), plan.pace.devices_needed()))
    return None if spend is None else cost_of(spend)


def affordable(devices: QuerySet[Device], federation: Federation, plan: Plan) -> QuerySet[Device]:
    """The devices whose budgets cover one more release of `federation`; all where the plan spends nothing."""
    cost = cost_under(plan)
    return devices if cost is None else affordable_at(devices, federation, cost)


def affordable_at(devices: QuerySet[Device], federation: Federation, cost: float) -> QuerySet[Device]:
    """The devices whose budgets cover a release of `federation` that costs μ² = `cost`."""
    left = limit_of(federation).mu2 * (1 + ROUNDING) - cost
    if left < 0:
        return devices.none()
    spent_here = Account.objects.filter(federation=federation, mu2__gt=left).values("device")
    default = Value(Limit().mu2, FloatField())
    spent = (
        Account.objects.values("device")
        .annotate(spent=Sum("mu2"), most=Coalesce(Max("device__privacy_budget__mu2"), default))
        .filter(spent__gt=F("most") * (1 + ROUNDING) - cost)
        .values("device")
    )
    too_small = Budget.objects.filter(device__isnull=False, mu2__lt=cost / (1 + ROUNDING)).values("device")
    found = devices.exclude(pk__in=spent_here).exclude(pk__in=spent).exclude(pk__in=too_small)
    return found if Limit().mu2 * (1 + ROUNDING) >= cost else found.filter(privacy_budget__isnull=False)


def spent_by(devices: Sequence[UUID], federation: Federation) -> tuple[Mapping[UUID, float], Mapping[UUID, float]]:
    """μ² of each of `devices` in `federation`, and in all federations; devices without charges are left out."""
    accounts = list(Account.objects.filter(device__in=devices))
    here = {account.device_id: account.mu2 for account in accounts if account.federation_id == federation.pk}
    everywhere: dict[UUID, float] = {}
    for account in accounts:
        everywhere[account.device_id] = everywhere.get(account.device_id, 0.0) + account.mu2
    return here, everywhere


def limits_of(devices: Sequence[UUID]) -> Mapping[UUID, float]:
    """The μ² that the budgets of `devices` allow."""
    own = dict(Budget.objects.filter(device__in=devices).values_list("device_id", "mu2"))
    return {device: own.get(device, Limit().mu2) for device in devices}


def rounds_left(federation: Federation, plan: Plan) -> int | None:
    """How many more rounds the budgets cover if devices take turns; None: the plan spends nothing.

    Each needs as many different devices as the pace takes into a round.
    """
    cost = cost_under(plan)
    if cost is None:
        return None
    devices = list(members(federation).order_by().values_list("pk", flat=True))
    most, own = limit_of(federation).mu2, limits_of(devices)
    here, everywhere = spent_by(devices, federation)
    parts = [
        min(
            releases_left(most, here.get(device, 0.0), cost),
            releases_left(own[device], everywhere.get(device, 0.0), cost),
        )
        for device in devices
    ]
    size, stream = min(plan.pace.updates_wanted(), len(parts)), stream_of(plan)
    if len(parts) < plan.pace.devices_needed():
        return 0
    if stream is None:
        return turns(parts, size)
    return min(turns(parts, size, apart=stream.apart), releases_to_come(federation, stream))


def rounds_at_first(plan: Plan, *, devices: int) -> int | None:
    """How many rounds the default budgets cover for `devices` devices without charges; None: nothing is spent."""
    cost = cost_under(plan)
    if cost is None or devices < plan.pace.devices_needed():
        return None
    parts, size = [releases_left(Limit().mu2, 0.0, cost)] * devices, min(plan.pace.updates_wanted(), devices)
    stream = stream_of(plan)
    return turns(parts, size) if stream is None else min(turns(parts, size, apart=stream.apart), stream.rounds)


def turns(parts: Sequence[int], size: int, *, apart: int = 1) -> int:
    """The most rounds of `size` different devices, of which each can take part as often as `parts` says.

    So many can be held exactly where Σ min(part, rounds) ≥ size · rounds (Gale 1957, doi 10.2140/pjm.1957.7.1073). Of
    devices whose parts are `apart` rounds from each other, each has one in that many rounds: what these counts allow
    are turns, and at the end a last one as far as it goes.
    """
    if size <= 0:
        return 0
    counted = Counter(parts)

    def devices(turns: int) -> int:
        return sum(min(part, turns) * count for part, count in counted.items())

    low, high = 0, sum(parts) // (size * apart)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if devices(middle) >= size * apart * middle else (low, middle - 1)
    return devices(low + 1) // size


@dataclass(frozen=True)
class Point:
    """The largest epsilon of any device after a release."""

    at: datetime
    release: str
    devices: int
    epsilon: float


def curve_of(federation: Federation) -> Sequence[Point]:
    """The growth of epsilon, oldest first; of very many releases only the newest."""
    delta, most = limit_of(federation).delta, 0.0
    charges = Charge.objects.filter(federation=federation).order_by()
    totals = charges.values("release").annotate(first=Min("at"), most=Max("total"), devices=Sum(Value(1)))
    points = []
    for one in totals.order_by("first", "release"):
        most = max(most, one["most"])
        points.append(Point(one["first"], one["release"], one["devices"], most))
    return [Point(one.at, one.release, one.devices, epsilon_of(one.epsilon, delta)) for one in points[-CURVE:]]


def largest_spent(federation: Federation) -> float:
    """The largest epsilon of any device of the federation: the guarantee for all of its devices."""
    most = Account.objects.filter(federation=federation).aggregate(most=Max("mu2"))["most"]
    return epsilon_of(most or 0.0, limit_of(federation).delta)


def _budget(owner: Federation | Device) -> Budget | None:
    mine = {"federation": owner} if isinstance(owner, Federation) else {"device": owner}
    return Budget.objects.filter(**mine).first()
