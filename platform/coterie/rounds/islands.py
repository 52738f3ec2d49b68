"""Islands: which supernodes of a neighbourhood keep its roles while they cannot reach the platform.

The platform names them in advance, and is not told what they agree on: once it is reachable again, its routes apply.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

import msgspec

from coterie.core.identity import signing_key
from coterie.federations.selectors import members
from coterie.fleet.models import Device
from coterie.fleet.selectors import with_tag
from coterie.rounds import reasons
from coterie.rounds.models import Assignment, Round, Route
from coterie.rounds.routing import CLOCK_SKEW, capabilities_of, site_of
from coterie.rounds.suitability import suitabilities
from coterie_wire.bundle import SignedManifest, sign_content
from coterie_wire.conditions import Reason
from coterie_wire.island import VOTERS, Island
from coterie_wire.relaying import Peer
from coterie_wire.version import PROTOCOL


class Islands:
    """A cache for one moment: each neighbourhood's voters are chosen, and their list signed, only once."""

    def __init__(self) -> None:
        self._voters: dict[tuple[int, str], Sequence[Device]] = {}
        self._signed: dict[tuple[int, str], SignedManifest] = {}

    def of(self, round_: Round, device: Device) -> SignedManifest | None:
        """The island of the site of `device`; None: it has none."""
        site = site_of(device, round_.parsed_plan().topology.site_tag())
        if site is None or not self.voters(round_, site):
            return None
        key = round_.pk, site
        if key not in self._signed:
            self._signed[key] = _signed(round_, self._voters[key])
        return self._signed[key]

    def voters(self, round_: Round, site: str) -> Sequence[Device]:
        """The three best devices of the site that offer to be voters; none where it has fewer."""
        key = round_.pk, site
        if key not in self._voters:
            self._voters[key] = _voters(round_, site)
        return self._voters[key]

    def standby_rounds(self, devices: Sequence[Device]) -> Mapping[UUID, int]:
        """By device, the open round in whose neighbourhood it is a voter; of several, the first."""
        offering = [device for device in devices if (device.capabilities.get("relay") or {}).get("islands")]
        if not offering:
            return {}
        routes = Route.objects.filter(
            supernode__isnull=False,
            assignment__round__state=Round.State.OPEN,
            assignment__state__in=Assignment.UNENDED,
        ).order_by()
        led = sorted(routes.values_list("assignment__round", "supernode").distinct())
        rounds = Round.objects.select_related("federation").in_bulk({round_ for round_, _ in led})
        supernodes = Device.objects.in_bulk({supernode for _, supernode in led})
        found: dict[UUID, int] = {}
        sites = dict.fromkeys(
            (key, site_of(supernodes[pk], rounds[key].parsed_plan().topology.site_tag())) for key, pk in led
        )
        for key, site in sites:
            if site is not None and any(site in device.tags for device in offering):
                voters = {voter.pk for voter in self.voters(rounds[key], site)}
                for device in offering:
                    if device.pk in voters:
                        found.setdefault(device.pk, key)
        return found


def weakness(round_: Round, site: str, *, now: datetime) -> Reason | None:
    """Why the site's voters would have no majority if it were cut off now; None: they would have one."""
    voters = Islands().voters(round_, site)
    if not voters:
        return reasons.island_too_small(site, len(_offering(round_, site)))
    away = [voter.name for voter in voters if not voter.is_present(now)]
    return None if 2 * len(away) < len(voters) else reasons.island_without_majority(site, away)


def _voters(round_: Round, site: str) -> Sequence[Device]:
    own = _offering(round_, site)
    if len(own) <= VOTERS:
        return own if len(own) == VOTERS else ()
    suitability = suitabilities(round_, own)
    return sorted(own, key=lambda device: (-suitability[device.pk].score, device.pk))[:VOTERS]


def _offering(round_: Round, site: str) -> Sequence[Device]:
    """Devices seen since the round opened, present now or not, so that the three voters stay the same."""
    topology = round_.parsed_plan().topology
    offering = members(round_.federation).filter(
        capabilities__relay__islands=True, quarantine="", paused_at=None, present_until__gte=round_.opened_at
    )
    return [
        device
        for device in with_tag(offering, site)
        if site_of(device, topology.site_tag()) == site and capabilities_of(device).peer_key is not None
    ]


def _signed(round_: Round, voters: Sequence[Device]) -> SignedManifest:
    assert round_.deadline_at is not None, "an open round has a deadline"
    island = Island(
        protocol=PROTOCOL,
        round=str(round_.pk),
        voters=tuple(_voter(voter) for voter in voters),
        expires_at=(round_.deadline_at + CLOCK_SKEW).timestamp(),
    )
    return sign_content(msgspec.json.encode(island), signing_key())


def _voter(device: Device) -> Peer:
    capabilities = capabilities_of(device)
    assert capabilities.relay is not None and capabilities.peer_key is not None, "a voter has both"
    return Peer(device=str(device.pk), key=capabilities.peer_key, address=capabilities.relay.address)
