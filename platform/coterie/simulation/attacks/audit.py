"""A privacy audit: all attacks on a plan, by all possible attackers."""

import math
from collections.abc import Callable, Sequence

import msgspec

from coterie.simulation.attacks.attacked_fleet import AttackedFleet, ObservedUpdate
from coterie.simulation.attacks.inversion import Inversion, first_layer
from coterie.simulation.attacks.membership import Advantage, MembershipInference, See
from coterie.simulation.errors import DoesNotFit
from coterie.simulation.progress import Report, SimulationProgress
from coterie.simulation.scenario import Scenario
from coterie_learning.merge import Cohort
from coterie_learning.plan import Plan, parse_plan, plan_document
from coterie_wire.tensors import Tensors


class AttackResult(msgspec.Struct, frozen=True):
    """The advantage of an attack: 0 by chance, 1 at best."""

    attack: str
    attacker: str
    plain: Advantage
    """Without the plan's privacy."""
    private: Advantage
    """With it."""


class Audit(msgspec.Struct, frozen=True):
    """The result of an audit."""

    privacy: str
    """The plan's privacy kind."""
    devices: int
    """Devices in the round."""
    trials: int
    seed: int
    found: tuple[AttackResult, ...]
    left_out: str | None
    """Why an attack was not run; None: all were."""
    noise_multiplier: float | None
    """The plan's noise multiplier for one release; None: no guarantee."""


def audit(plan: Plan, scenario: Scenario, *, trials: int, samples: int, seed: int, report: Report) -> Audit:
    """Run the attacks on one round of `plan`; deterministic in its arguments.

    `samples` is the number that each device trains on for membership inference. Raises DoesNotFit, Diverged, or
    WireError ``plan.*``.
    """
    if not plan.pace.holds_rounds():
        raise DoesNotFit(detail="attacks are tried on updates in rounds, and the plan holds none")
    cohort = plan.pace.updates_wanted()
    ground = AttackedFleet(plan, scenario, devices=cohort + 1, seed=seed)
    plain = parse_plan({**plan_document(plan), "privacy": {"kind": "none"}})
    membership = MembershipInference(ground, plain, cohort=cohort, samples=samples, seed=seed)
    layer = first_layer(ground.first.graphs.spec)
    attacks = {"membership": membership.advantage}
    if layer is not None:
        attacks["inversion"] = Inversion(ground, layer, cohort=cohort, seed=seed).advantage
    attackers: dict[str, See] = {"the platform": _Platform(ground), "who has versions": _Versions(ground)}
    found: list[AttackResult] = []
    total = 2 * trials * len(attacks) * len(attackers)
    for attack, advantage in attacks.items():
        for attacker, see in attackers.items():
            before = 2 * trials * len(found)
            without, within = (
                advantage(kind, see, trials=trials, report=_counting(report, before + so_far, total))
                for kind, so_far in ((plain, 0), (plan, trials))
            )
            found.append(AttackResult(attack, attacker, without, within))
    spend = plan.privacy.spend(Cohort(cohort, cohort))
    return Audit(
        plan.privacy.name,
        cohort,
        trials,
        seed,
        tuple(found),
        None if layer is not None else "inversion: no dense layer with a bias reads the model's input",
        None if spend is None else spend.noise_multiplier / spend.participations,
    )


def most_allowed(noise_multiplier: float) -> float:
    """The largest advantage that a Gaussian mechanism leaves: 2·Φ(1/(2z)) - 1 (Dong et al. 2019, arXiv 1905.02383)."""
    return math.erf(1 / (2 * noise_multiplier) / math.sqrt(2))


def _counting(report: Report, before: int, total: int) -> Callable[[int], None]:
    return lambda trial: report(SimulationProgress((before + trial) / total, rounds=0))


class _Platform:
    """Honest but curious: reads every single update, unless updates arrive as a sum."""

    def __init__(self, ground: AttackedFleet) -> None:
        self._ground = ground

    def __call__(self, plan: Plan, one: ObservedUpdate, others: Sequence[ObservedUpdate], seed: int) -> Tensors:
        if plan.privacy.masking() is not None:
            return self._ground.merged(plan, [one, *others], seed=seed)
        return self._ground.read(plan, one)


class _Versions:
    """Everybody who receives versions: sees the difference of two."""

    def __init__(self, ground: AttackedFleet) -> None:
        self._ground = ground

    def __call__(self, plan: Plan, one: ObservedUpdate, others: Sequence[ObservedUpdate], seed: int) -> Tensors:
        return self._ground.merged(plan, [one, *others], seed=seed)
