"""Why help requests wait and how they end: stable codes, and sentences made of counts."""

from coterie_wire.conditions import Reason

GONE = Reason("transfer.device_gone", "the device was revoked or has left the fleet")
PLAN_CHANGED = Reason("transfer.plan_changed", "the federation has finished or has another plan since")
RECOVERED = Reason("transfer.recovered", "the device that asked has recovered by itself")
UNJUDGED = Reason("transfer.not_judged", "the device that asked did not fetch and judge the portion in time")
SILENT = Reason("transfer.helper_silent", "the helper did not deliver in time")
ASKED_ANEW = Reason("transfer.asked_anew", "the device that asked has begun anew and asks for something else")
SERVING = Reason("transfer.serving", "the helper has been told and its portion is awaited")
TELLING = Reason("transfer.telling", "a helper has been found and is being told")
WAITING = Reason("transfer.fetching", "the portion waits for the device that asked")
JUDGING = Reason("transfer.judging", "the device that asked judges what it has merged")
BUSY = Reason("transfer.helpers_busy", "every device that could help is busy or away; the search goes on")

TRYING_DIRECTLY = Reason("transfer.trying_directly", "both devices open direct paths: the portion is fetched by one")
FETCHED_DIRECTLY = Reason("transfer.fetched_directly", "the device that asked has fetched it from the helper")
NOT_FETCHED = Reason("transfer.not_fetched", "the device that asked did not fetch it from the helper in time")


def opens_no_paths(device: str) -> Reason:
    """One of the two devices cannot be reached directly."""
    return Reason("transfer.opens_no_paths", f"{device} opens no direct paths")


def tried_all(tried: int) -> Reason:
    """As many helpers as the plan allows were tried."""
    devices = "device was" if tried == 1 else "devices were"
    return Reason("transfer.all_tried", f"{tried} {devices} asked and none came through")


def verdict(*, kept: bool, before: float, after: float) -> Reason:
    """The verdict of the device that asked."""
    outcome = "kept" if kept else "undone"
    return Reason(f"transfer.{outcome}", f"{outcome}: accuracy {before:.1%} without the help, {after:.1%} with it")
