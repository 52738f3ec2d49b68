"""Why rounds and devices wait, and why rounds are abandoned: stable codes, and sentences made of counts."""

import math
from collections.abc import Mapping, Sequence

from coterie.core.kind_failures import MEND_IT, KindFailed
from coterie.rounds.suitability import Suitability
from coterie_learning.consent import FEDERATION
from coterie_learning.negotiation import NeededKind
from coterie_learning.sum_tree import Branch
from coterie_wire.conditions import Reason
from coterie_wire.island import VOTERS

MAX_CHARACTERS = 400
NEEDS_DEVICES = "rounds.needs_devices"
ROLLING_OUT = "rounds.rolling_out"
PAUSE_STEPS_S = ((7200, 3600), (120, 60), (10, 10), (0, 5))
"""The step in which remaining time is shown, by least remaining time; both in seconds."""

NO_FEDERATION = Reason("rounds.no_federation", "no federation that is running asks this device")
HOLDS_NONE = Reason("rounds.holds_none", "the plan holds no rounds: every device learns by itself")
PAUSED = Reason("rounds.federation_paused", "the federation is paused")
FINISHED = Reason("rounds.federation_finished", "the federation has finished")
NO_MODEL = Reason("rounds.no_model", "the pair has no device model yet: bootstrap it first")
NO_CLOUD_MODEL = Reason("rounds.no_cloud_model", "the pair has no cloud model yet: bootstrap it first")
CLOSING = Reason("rounds.closing", "the round takes no more updates and is about to be merged")
BETWEEN = Reason("rounds.between", "the next round is being planned")
CLOSED = Reason("rounds.round_closed", "the round closed before the update had arrived")
ABSENT = Reason("rounds.device_absent", "the device fell silent")
GONE = Reason("rounds.device_gone", "the device was revoked or has left the fleet")
OVERDUE = Reason("rounds.assignment_overdue", "the update did not come in the time that the plan gives a device")
PLAN_CHANGED = Reason("rounds.plan_changed", "the plan was changed, and updates made under the old one fit no more")
HELD_BACK = Reason("rounds.held_back", "an operator paused or pinned the device while the round was held")

LEADS = Reason("route.leads", "the device is the supernode of its site, and sends its own update itself")
NO_PEER_KEY = Reason("route.no_peer_key", "the device's agent is too old to send to a neighbour")
PARENT_AWAY = Reason("fold.parent_away", "the supernode above did not answer; the sum goes to the platform")
PARENT_LATE = Reason("fold.parent_late", "the supernode above did not take the sum in time; it goes to the platform")
PARENT_GONE = Reason("fold.parent_gone", "the supernode above fell out; the sum goes to the platform")
SUPERNODE_AWAY = Reason("route.supernode_away", "the supernode did not answer, and the device sent its update itself")
SUPERNODE_LATE = Reason("route.supernode_late", "the supernode did not send the sum in time; devices send themselves")
SUPERNODE_SILENT = Reason("route.supernode_silent", "the supernode fell silent; devices send their updates themselves")
FOLD_OUTDATED = Reason("fold.outdated", "other updates count than when the sum was asked for")


def kind_failed(error: KindFailed) -> Reason:
    """The code of a kind of the federation's plan raised an error, so that its rounds cannot go on."""
    return Reason(error.code, f"it paused itself: {str(error)[:240]}. {MEND_IT}"[:MAX_CHARACTERS])


def no_site(prefix: str) -> Reason:
    """The device has no tag that says where it is."""
    return Reason("route.no_site", f"the device has no tag that begins with {prefix}"[:MAX_CHARACTERS])


def no_supernode(site: str) -> Reason:
    """No device at the site can sum, or their owners do not allow it."""
    return Reason(NO_SUPERNODE, f"no device of {site} is present, powered and allowed to be a supernode")


def supernodes_full(site: str) -> Reason:
    """The site's supernodes have as many neighbours as they accept."""
    return Reason("route.supernodes_full", f"the supernodes of {site} take no more devices")


def no_saving(site: str, members: int) -> Reason:
    """A sum of few coarsely encoded updates would cost more bytes than they do."""
    return Reason("route.no_saving", f"the sum of {members} updates of {site} would be larger than they are")


NO_SUPERNODE = "route.no_supernode"


def island_too_small(site: str, supernodes: int) -> Reason:
    """Too few devices of the site could be its voters while it is cut off."""
    there = "one supernode" if supernodes == 1 else f"{supernodes} supernodes"
    sentence = f"{site} has {there} of the {VOTERS} that keep its roles while it is cut off"
    return Reason("island.too_small", sentence[:MAX_CHARACTERS])


def island_without_majority(site: str, names: Sequence[str]) -> Reason:
    """Too few of the site's voters are present to form a majority."""
    away = f"{', '.join(names[:-1])} and {names[-1]} are"
    sentence = f"{away} away, of the {VOTERS} supernodes that keep the roles of {site} while it is cut off"
    return Reason("island.without_majority", sentence[:MAX_CHARACTERS])


def by_supernode(site: str, name: str, suitability: Suitability) -> Reason:
    """Why the device sends to this neighbour."""
    line = "" if suitability.mbit_s is None else f", a line of {suitability.mbit_s:.3g} Mbit/s"
    sentence = (
        f"{name} is the supernode of {site}: its owner lets it, it has power, {suitability.cores} cores, "
        f"{suitability.memory_gib:.3g} GiB of memory{line}, and stays in {suitability.stayed:.0%} of its rounds"
    )
    return Reason("route.by_supernode", sentence[:MAX_CHARACTERS])


def shed(name: str, other: str | None, sentence: str) -> Reason:
    """Why a device was rerouted to another neighbour, or to the platform."""
    instead = "no neighbour has room, so that it sends itself" if other is None else f"{other} takes it"
    return Reason("route.shed", f"{name} has shed the device: {sentence}; {instead}"[:MAX_CHARACTERS])


def way_of_sum(branch: Branch, parent: str | None) -> Reason:
    """Why a supernode's sum has its route."""
    group = branch.group
    match branch.why:
        case "grouped":
            sentence = f"{parent} is the supernode of {group}: it adds the sums that meet there"
        case "top":
            sentence = f"it adds the sums of {group} itself" if group else "no supernode stands above it"
        case "no_tag":
            sentence = f"the supernode has no tag that begins with {group}"
        case "nobody":
            sentence = f"no device of {group} is present, powered, allowed and able to add sums"
        case "full":
            sentence = f"the supernode of {group} takes no more sums"
        case "alone":
            sentence = f"no other sum of {group} would meet it"
        case "unchecked":
            sentence = "the agents of this supernode or its devices are too old for its sum to be checked on the way"
    return Reason(f"fold.{branch.why}", sentence[:MAX_CHARACTERS])


def altered(name: str, sentence: str) -> Reason:
    """A partial aggregate is not the requested one: its supernode is no longer trusted."""
    return Reason("fold.altered", f"the sum that {name} sent was refused: {sentence}"[:MAX_CHARACTERS])


def far_off(reported_by: str) -> Reason:
    """A device reports that another one's models were far off at their meetings."""
    detail = f"at most meetings with {reported_by} its model lay far off those of the others"
    return Reason("rounds.far_off", detail[:MAX_CHARACTERS])


def poisoned(reported_by: int, met: int) -> Reason:
    """Most devices that could meet this one report that its models were far off."""
    detail = f"{reported_by} of {met} devices of its round say that its model lay far off those of the others"
    return Reason("rounds.poisoned", f"{detail} at most meetings with them")


def gathering(*, accepted: int, asked: int) -> Reason:
    """A round waits for sums of updates that supernodes hold."""
    return Reason("rounds.gathering", f"{accepted} of {asked} supernodes have sent the sum of the updates they hold")


def resending(count: int) -> Reason:
    """A supernode failed, and its devices send to the platform."""
    sentence = f"{count} {_devices(count)} whose supernode fell out may still send directly"
    return Reason("rounds.resending", sentence)


def pause(seconds: float) -> Reason:
    """The next round's time has not come. Shown in steps, so that the sentence does not change every second."""
    step_s = next(step_s for from_s, step_s in PAUSE_STEPS_S if seconds >= from_s)
    left = math.ceil(seconds / step_s) * step_s
    said = f"{left} s" if left < 120 else f"{left // 60} min" if left < 7200 else f"{left // 3600} h"
    return Reason("rounds.pause", f"the next round may open in {said}")


def pause_holds_s(seconds: float) -> float:
    """Seconds for which the sentence of `pause` for `seconds` (> 0) stays correct; at most the pause itself."""
    step_s = next(step_s for from_s, step_s in PAUSE_STEPS_S if seconds > from_s)
    return min(seconds, seconds % step_s or step_s)


def needs_devices(*, needed: int, eligible: int, others: Mapping[str, int]) -> Reason:
    """Too few devices are ready; `others` counts the rest by what blocks them."""
    kept = ", ".join(f"{count} {what}" for what, count in sorted(others.items(), key=lambda item: (-item[1], item[0])))
    sentence = f"needs {needed} {_devices(needed)}, {eligible} eligible" + (f": {kept}" if kept else "")
    return Reason(NEEDS_DEVICES, sentence[:MAX_CHARACTERS])


def collecting(*, wanted: int, delivered: int, stages: Mapping[str, int]) -> Reason:
    """An open round waits for updates; `stages` counts the live assignments by stage."""
    at_work = ", ".join(f"{count} {stage}" for stage, count in sorted(stages.items()))
    return Reason("rounds.collecting", f"{delivered} of {wanted} updates are in" + (f": {at_work}" if at_work else ""))


def rolling_out(number: int, sentence: str) -> Reason:
    """The next round begins with whatever version the roll-out leaves in use."""
    return Reason(ROLLING_OUT, f"waits until the roll-out of version {number} has ended: {sentence}"[:MAX_CHARACTERS])


def too_stale(allowed: int) -> Reason:
    """The version that a device works on is too old, so that its update would not count."""
    return Reason(
        "rounds.too_stale",
        f"the version that the device works on is more than {allowed} versions old, or was rolled back",
    )


def taken_back(parts: Sequence[str]) -> Reason:
    """The device's owner has withdrawn consent to some parts."""
    named = (part.replace(FEDERATION, "federation ") for part in parts)
    sentence = f"its owner has taken back a part of what was agreed to: {', '.join(named)}"
    return Reason("rounds.taken_back", sentence[:MAX_CHARACTERS])


def lacks_kinds(lacked: Sequence[NeededKind]) -> Reason:
    """The device's agent cannot do what the federation's plan asks of it."""
    needs = ", ".join(f"{kind.distribution or f'agent {kind.since}'} for {kind.slot} {kind.name}" for kind in lacked)
    return Reason("rounds.lacks_kinds", f"needs {needs}"[:MAX_CHARACTERS])


def full(number: int) -> Reason:
    """The open round has invited as many devices as it wants."""
    return Reason("rounds.full", f"round {number} has all the devices it wants; the next one may ask this device")


def has_place(number: int) -> Reason:
    """The open round invites the next device that is ready."""
    return Reason("rounds.has_place", f"round {number} has a place and asks this device when it checks in ready")


def delivered(number: int) -> Reason:
    """The device has done its part."""
    return Reason("rounds.delivered", f"the update for round {number} is in; the round waits for others")


def blocker_in_words(code: str) -> str:
    """A blocker's code in words that can be counted: ``conditions.on_battery`` is "on battery"."""
    return code.rpartition(".")[2].replace("_", " ")


def _devices(count: int) -> str:
    return "device" if count == 1 else "devices"
