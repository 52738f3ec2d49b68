"""What an owner's settings turn on, and what `status` says of it."""

from pathlib import Path

import pytest

from coterie_agent.config import DiscoverySettings, load_config
from coterie_agent.discovery.book import PeerService
from coterie_agent.discovery.opened import CurrentAddresses, Discovery, open_discovery
from coterie_agent.errors import AgentError, Exit
from coterie_agent.exclusions import Exclusions
from coterie_agent.report import make_report, status_lines
from coterie_agent.situation import Situation
from coterie_agent.store.neighbours import Neighbour
from coterie_agent.store.opened import Store
from tests.coterie_agent.discovery.devices import Platform
from tests.coterie_agent.discovery.test_finding import record

HERE: dict[PeerService, str] = {"meetings": "127.0.0.1:8718"}


def opened(store: Store, settings: DiscoverySettings, addresses: dict[PeerService, str]) -> Discovery | None:
    return open_discovery(
        settings,
        own="d1",
        store=store.neighbours,
        exclusions=Exclusions(store.identity.trusted),
        secret=bytes(32),
        addresses=lambda: addresses,
        link=Platform("d1", lambda: 0.0),
        situation=Situation(),
        record_sent=lambda what, size: None,
    )


def test_nothing_is_on_unless_the_owner_says_so(joined: Store) -> None:
    assert opened(joined, DiscoverySettings(), HERE) is None
    looking = opened(joined, DiscoverySettings(mode="find"), HERE)
    assert looking is not None
    assert (looking.book.addresses(), looking.local_network) == ({}, None)
    announcing = opened(joined, DiscoverySettings(mode="announce", local_network=True), HERE)
    assert announcing is not None
    assert announcing.book.addresses() == HERE
    assert announcing.local_network is not None
    assert announcing.local_network.announced() == HERE["meetings"]
    listening = opened(joined, DiscoverySettings(mode="find", local_network=True), HERE)
    assert listening is not None
    assert listening.local_network is not None
    assert listening.local_network.announced() is None


def test_without_a_network_a_device_is_where_it_was_last() -> None:
    """And where it never had one, the owner is told."""
    answers: list[dict[PeerService, str]] = [{"meetings": "10.0.0.1:1"}, {"meetings": "10.0.0.2:1"}]

    def look() -> dict[PeerService, str]:
        if not answers:
            raise AgentError("relay.no_address", "no network")
        return answers.pop(0)

    addresses = CurrentAddresses(look)
    assert [addresses(), addresses()] == [{"meetings": "10.0.0.2:1"}] * 2
    with pytest.raises(AgentError, match="no network"):
        CurrentAddresses(look)


def test_settings_that_cannot_work_are_refused_with_what_to_do(joined: Store, tmp_path: Path) -> None:
    with pytest.raises(AgentError, match=r"\[gossip\] meet or \[relay\] serve") as refusal:
        opened(joined, DiscoverySettings(mode="announce"), {})
    assert (refusal.value.code, refusal.value.exit_code) == ("discovery.no_door", Exit.BAD_CONFIG)
    settings = tmp_path / "agent.toml"
    settings.write_text("[discovery]\nlocal_network = true\n", encoding="utf-8")
    with pytest.raises(AgentError, match="local_network needs mode") as refusal:
        load_config(settings)
    assert refusal.value.code == "config.invalid"


def test_status_says_where_each_neighbour_was_found(joined: Store) -> None:
    home = joined.identity._home
    joined.neighbours.keep(Neighbour("b", "local network", "10.0.0.7:8718", "10.0.0.7:8717", 1e12), record())
    joined.neighbours.keep(Neighbour("c", "table", None, "10.0.0.8:8717", 1.0), record("c", by="c"))
    lines = status_lines(make_report(home, joined))
    told = [line for line in lines if line.startswith("neighbour")]
    assert told == [
        "neighbour b: meetings at 10.0.0.7:8718 and updates at 10.0.0.7:8717; found by the local network"
    ], "the other record has expired"
    joined.identity.delete()
    assert joined.neighbours.neighbours(now=0) == ()
