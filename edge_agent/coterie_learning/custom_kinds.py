"""Kinds provided by other packages, each an entry point ``SLOT.NAME`` of the group ``coterie.kinds``.

They are code that runs with the rights of the platform or the agent, and an indirect dependency may contain some. So
none is loaded before its distribution is signed off in this Python environment: in the file `SIGNED_OFF`, which
``coterie kinds allow`` and ``coterie-agent kinds --allow`` write. Every process of an environment reads the same file.
"""

import pkgutil
import re
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import NamedTuple

from coterie_wire.conditions import Reason
from coterie_wire.errors import WireError

GROUP = "coterie.kinds"
DEVICE_SLOTS = ("local", "codec", "privacy", "personal", "help")
"""The slots whose kinds run on the device."""
PLATFORM_SLOTS = ("pace", "selection", "topology", "merge", "down", "groups", "rollout", "fallback", "forgetting")
FAILED = "kinds.failed"
"""Code of an error that the code of a kind raised."""
SIGNED_OFF = Path(sys.prefix) / "etc" / "coterie-kinds"
"""Names of distributions, one a line."""
_KIND_NAME = re.compile(r"[a-z][a-z0-9_]*")
_HEADER = "# Distributions whose kinds Coterie loads in this Python environment, one a line.\n"
_HERE = Path(__file__).parent


class Offer(NamedTuple):
    """A kind that an installed distribution provides."""

    slot: str
    name: str
    distribution: str
    version: str
    target: str
    """Where it is defined, as ``package.module:Class``."""
    refusal: Reason | None = None
    """Why it is not loaded; None: nothing is known to prevent loading."""


def built_in_kinds(slot: str) -> tuple[str, ...]:
    """The built-in kinds of `slot`, in order; a kind has the name of its module. Nothing is loaded."""
    found = pkgutil.iter_modules([str(_HERE / slot)])
    return tuple(sorted(info.name for info in found if not info.name.startswith("_")))


@cache
def offers() -> Sequence[Offer]:
    """Every kind that an installed distribution provides, sorted; none is loaded."""
    from importlib.metadata import entry_points  # here: it takes memory, and most devices have no such kinds

    signed_off = signed_off_distributions()
    found = []
    for entry in entry_points(group=GROUP):
        slot, _, name = entry.name.partition(".")
        assert entry.dist is not None, "entry points that are installed know their distribution"
        offer = Offer(slot, name, normalised(entry.dist.name), entry.dist.version, entry.value)
        found.append(offer._replace(refusal=_refusal(offer, signed_off)))
    taken = [(offer.slot, offer.name) for offer in found if offer.refusal is None]
    judged = (_refuse_duplicates(offer, taken.count((offer.slot, offer.name))) for offer in found)
    return sorted(judged, key=lambda offer: offer[:-1])


def signed_off_offers(slot: str) -> Sequence[Offer]:
    """Offers of `slot` that are to be loaded."""
    return [offer for offer in _to_be_loaded() if offer.slot == slot]


def offered(slot: str, name: str) -> Offer | None:
    """The offer of the kind `name` of `slot`, loaded or not; None: no installed distribution provides it."""
    found = [offer for offer in offers() if (offer.slot, offer.name) == (slot, name)]
    return min(found, key=lambda offer: (offer.refusal is not None, offer.distribution), default=None)


@cache
def signed_off_distributions() -> frozenset[str]:
    """The normalised names of the distributions that are signed off in this environment."""
    try:
        lines = SIGNED_OFF.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return frozenset()
    names = (line.partition("#")[0].strip() for line in lines)
    return frozenset(normalised(name) for name in names if name)


@contextmanager
def named_failures(*others: type[Exception]) -> Iterator[None]:
    """Raises WireError ``kinds.failed``, which names the distribution, in place of an error of the code of a kind.

    An error is of a kind where it passed through the package of an offer that is signed off. WireErrors, `others`, and
    errors of all other code stay what they are.
    """
    kept: tuple[type[Exception], ...] = (WireError, MemoryError, *others)
    try:
        yield
    except kept:
        raise
    except Exception as error:
        failure = _failure_of(error)
        if failure is None:
            raise
        raise failure from error


def sign_off(distribution: str) -> None:
    """Allow processes started from now on to load the kinds of `distribution`.

    Raises WireError ``kinds.not_installed`` or ``kinds.not_writable``.
    """
    name = normalised(distribution)
    if name not in {offer.distribution for offer in offers()}:
        raise WireError("kinds.not_installed", f"no distribution {name} with kinds is installed in {sys.prefix}")
    _write(signed_off_distributions() | {name})


def withdraw(distribution: str) -> None:
    """Revoke the sign-off of `distribution` for processes started from now on; it need not be installed.

    Raises WireError ``kinds.not_writable``.
    """
    _write(signed_off_distributions() - {normalised(distribution)})


def normalised(distribution: str) -> str:
    """The name of a distribution as package indices compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _to_be_loaded() -> Sequence[Offer]:
    """Offers that are to be loaded; where nothing is signed off, packages are not searched."""
    return [offer for offer in offers() if offer.refusal is None] if signed_off_distributions() else ()


def _failure_of(error: Exception) -> WireError | None:
    """What to raise in place of `error`; None: it did not pass through the code of a kind."""
    by_package = {_package(offer.target): offer for offer in _to_be_loaded()}
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        offer = by_package.get(_package(frame.f_globals.get("__name__", "")))
        if offer is not None:
            where = f"{frame.f_code.co_qualname}, line {line} of {Path(frame.f_code.co_filename).name}"
            what = f"{type(error).__name__}: {error}".removesuffix(": ")
            return WireError(FAILED, f"{offer.distribution} {offer.version} failed in {where}: {what}")
    return None


def _package(target: str) -> str:
    """The top-level package of ``package.module:Class``."""
    return target.partition(":")[0].partition(".")[0]


def _write(distributions: frozenset[str]) -> None:
    draft = SIGNED_OFF.with_name(SIGNED_OFF.name + ".new")
    try:
        SIGNED_OFF.parent.mkdir(parents=True, exist_ok=True)
        draft.write_text(_HEADER + "".join(f"{name}\n" for name in sorted(distributions)), encoding="utf-8")
        draft.replace(SIGNED_OFF)
    except OSError as error:
        raise WireError("kinds.not_writable", f"{SIGNED_OFF} cannot be written: {error.strerror}") from error
    signed_off_distributions.cache_clear()
    offers.cache_clear()


def _refusal(offer: Offer, signed_off: frozenset[str]) -> Reason | None:
    if offer.slot not in (*DEVICE_SLOTS, *PLATFORM_SLOTS) or not _KIND_NAME.fullmatch(offer.name):
        sentence = f"an entry point is named SLOT.NAME, as local.warm_up, not {offer.slot}.{offer.name}"
        return Reason("kinds.invalid", sentence)
    if offer.name in built_in_kinds(offer.slot):
        return Reason("kinds.name_taken", f"slot {offer.slot} has a kind {offer.name} already; give it another name")
    if offer.distribution not in signed_off:
        return Reason(
            "kinds.not_signed_off", f"{offer.distribution} is not signed off: coterie kinds allow {offer.distribution}"
        )
    return None


def _refuse_duplicates(offer: Offer, claims: int) -> Offer:
    if offer.refusal is not None or claims == 1:
        return offer
    sentence = f"{claims} entry points that are signed off bring {offer.slot}.{offer.name}; withdraw all but one"
    return offer._replace(refusal=Reason("kinds.name_taken", sentence))
