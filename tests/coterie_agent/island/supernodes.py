"""Supernodes of one neighbourhood in this process: real stores, doors and threads, each of which can be killed."""

import threading
from contextlib import ExitStack
from pathlib import Path

import msgspec

from coterie_agent.exclusions import Exclusions
from coterie_agent.home import Home
from coterie_agent.island.membership import IslandMembership
from coterie_agent.island.thread import IslandThread
from coterie_agent.peer_server import PeerServer
from coterie_agent.relay.handler import RelayHandler
from coterie_agent.situation import Situation
from coterie_agent.store.opened import open_store
from coterie_wire.bundle import sign_content
from coterie_wire.conditions import Reason
from coterie_wire.island import ISLAND_PATH, Island
from coterie_wire.relaying import PATH, Lead
from tests.coterie_agent.bundles import SIGNING_KEY, make_bundle
from tests.coterie_agent.fake_platform import PLAN

NAMES = ("one", "two", "three")
SECRETS = {name: bytes([number]) * 32 for number, name in enumerate(NAMES, 1)}
BUNDLE = make_bundle()
AWAY = Reason("link.unreachable", "no answer")


def lead_with(island: Island, *, signed_by: bytes = SIGNING_KEY) -> Lead:
    signed = sign_content(msgspec.json.encode(island), signed_by)
    return Lead(round="7", plan=msgspec.Raw(msgspec.json.encode(PLAN)), manifest=BUNDLE.signed, island=signed)


class Supernode:
    """One voter."""

    def __init__(self, name: str, folder: Path, island: Island) -> None:
        self.name, self._folder, self._island = name, folder, island
        self.sent: list[str] = []
        self.start()

    def start(self, *, told: bool = True) -> None:
        """`told`: the platform has said that it is a voter, before it went away."""
        self._stack = ExitStack()
        home = Home(self._folder)
        store = self._stack.enter_context(open_store(home))
        self.membership = IslandMembership(
            device=self.name,
            trusted=lambda: (BUNDLE.platform_key,),
            secret=SECRETS[self.name],
            store=store.island,
            exclusions=Exclusions(lambda: (BUNDLE.platform_key,)),
        )
        self.situation = Situation()
        self.handler = RelayHandler(
            device=self.name,
            trusted=lambda: (BUNDLE.platform_key,),
            secret=SECRETS[self.name],
            folder=home.relay,
            sums_folder=home.relay_sums,
            members=10,
            island=self.membership,
            exclusions=self.membership.exclusions,
        )
        own = self._island.voter(self.name)
        assert own is not None
        port = int(own.address.rpartition(":")[2])
        self._door = PeerServer(port, self.handler, path=PATH, beside={ISLAND_PATH: self.membership})
        threading.Thread(target=self._door.run, daemon=True).start()
        if told:
            self.membership.stored_lead = lead_with(self._island)
        self.handler.follow(self.membership.stored_lead)
        thread = IslandThread(
            membership=self.membership,
            situation=self.situation,
            record_sent=lambda what, _bytes: self.sent.append(what),
        )
        self._thread = threading.Thread(target=thread.run, daemon=True)
        self._thread.start()

    def lose_the_platform(self) -> None:
        self.situation.link("offline", AWAY)

    def kill(self) -> None:
        self.situation.stop()
        self._thread.join()
        self._door.shutdown()
        self._door.server_close()
        self._stack.close()

    def leader(self) -> str | None:
        status = self.membership.status()
        return None if status is None else status.leader


def led(voters: list[Supernode]) -> Supernode | None:
    """The one that all of `voters` follow, itself among them."""
    leaders = {one.leader() for one in voters}
    return next((one for one in voters if leaders == {one.name}), None)
