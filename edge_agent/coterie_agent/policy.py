"""Evaluates conditions: why the device does not train now. Pure; the owner can only be stricter than the plan."""

from collections.abc import Iterator

from coterie_agent.errors import STORE_FULL
from coterie_agent.store.samples import Widths
from coterie_wire.bundle import ModelSpec
from coterie_wire.conditions import NETWORK_CODES, Conditions, Reason, Requirements, is_within
from coterie_wire.contract import accepted_sizes, at_length, length_of, target_size

LEAST_FREE_BYTES = 8 << 20
"""Room for a checkpoint and an update of a small model, and for what the system itself writes."""


PAUSED = Reason("owner.paused", "its owner has paused training")


def judge(
    plan: Requirements | None,
    owner: Requirements,
    conditions: Conditions,
    local_hour: int,
    *,
    limits: Requirements | None = None,
) -> tuple[Reason, ...]:
    """Why the device may not train now; empty when it may.

    `plan` (None: no federation asks), `owner` and the `limits` that he has set on his page must all be met; each
    condition that is not gives one reason. `local_hour` is 0 to 23.
    """
    asked = (("the plan", plan), ("the owner", owner), ("the owner", limits))
    reasons: dict[str, Reason] = {}
    for who, required in asked:
        if required is None:
            continue
        for reason in _unmet(who, required, conditions, local_hour):
            reasons.setdefault(reason.code, reason)
    return tuple(reasons.values())


def blocks_network(blockers: tuple[Reason, ...]) -> bool:
    """Whether `blockers` hold back downloads and uploads too."""
    return any(reason.code in NETWORK_CODES for reason in blockers)


def _unmet(who: str, required: Requirements, conditions: Conditions, local_hour: int) -> Iterator[Reason]:
    refuse_unknown = required.unknown == "refuse"
    if required.charging:
        if conditions.charging == "no":
            yield _reason("conditions.on_battery", f"on battery; {who} asks for charging")
        elif conditions.charging == "unknown" and refuse_unknown:
            yield _reason("conditions.power_unknown", f"cannot tell whether it is charging; {who} asks for charging")
    if conditions.network == "none":
        yield _reason("conditions.offline", "no network")
    elif required.unmetered:
        if conditions.network == "metered":
            yield _reason("conditions.metered", f"on a metered network; {who} asks for Wi-Fi or Ethernet")
        elif conditions.network == "unknown" and refuse_unknown:
            yield _reason("conditions.network_unknown", f"cannot tell which network; {who} asks for Wi-Fi or Ethernet")
    if required.idle:
        if conditions.idle == "no":
            yield _reason("conditions.in_use", f"in use; {who} asks for an idle device")
        elif conditions.idle == "unknown" and refuse_unknown:
            yield _reason("conditions.idle_unknown", f"cannot tell whether it is in use; {who} asks for an idle device")
    if required.max_temperature_c is not None:
        limit = f"{who} allows {required.max_temperature_c:g} °C"
        if conditions.temperature_c is None:
            if refuse_unknown:
                yield _reason("conditions.temperature_unknown", f"cannot tell its temperature; {limit}")
        elif conditions.temperature_c > required.max_temperature_c:
            yield _reason("conditions.too_hot", f"{conditions.temperature_c:.0f} °C; {limit}")
    if required.hours is not None and not is_within(required.hours, local_hour):
        start, end = required.hours
        yield _reason("conditions.outside_hours", f"{local_hour}:00; {who} allows {start}:00 to {end}:00")


def judge_space(free_bytes: int) -> tuple[Reason, ...]:
    """Why the device has no room to train; empty when it has."""
    if free_bytes >= LEAST_FREE_BYTES:
        return ()
    free, least = free_bytes >> 20, LEAST_FREE_BYTES >> 20
    return (_reason(STORE_FULL, f"the device's disk is full: {free} MiB are free, {least} MiB are needed"),)


def _reason(code: str, sentence: str) -> Reason:
    return Reason(code=code, sentence=sentence)


def judge_data(*, widths: Widths | None, usable: int, model: ModelSpec | None) -> tuple[Reason, ...]:
    """Why the device's samples cannot train `model` (None: not known yet); empty when they can.

    `widths` are those of the samples (None: there are none), of their first one where they differ in length; `usable`
    is how many have a label that the model knows.
    """
    if widths is None:
        return (_reason("data.no_samples", "no samples on the device yet; add some with: coterie-agent ingest FILE"),)
    if model is None:
        return ()
    length = length_of(model, widths.features)
    if length is None:
        taken = accepted_sizes(model)
        return (_reason("data.does_not_fit", f"samples have {widths.features} features, the model takes {taken}"),)
    wanted = target_size(at_length(model, length))
    if widths.targets != wanted:
        found, asked = (f"targets of {count} numbers" if count else "classes" for count in (widths.targets, wanted))
        return (_reason("data.does_not_fit", f"samples have {found}, the model learns {asked}"),)
    if usable == 0:
        return (
            _reason(
                "data.does_not_fit",
                f"no label is one of the model's classes, which end at {model.classes - 1}; "
                "correct the samples, and give them again with: coterie-agent ingest --replace FILE",
            ),
        )
    return ()
