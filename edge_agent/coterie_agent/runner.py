"""The running agent: its threads, and what they share."""

import logging
import shutil
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TYPE_CHECKING, Any

from coterie_agent.answering import AnsweringThread
from coterie_agent.blobs import BlobCache
from coterie_agent.certifying import Certifying
from coterie_agent.conditions.reader import ReadConditions
from coterie_agent.config import Config
from coterie_agent.contact import Contact
from coterie_agent.device import capabilities, offer_to_answer, own_address, with_port
from coterie_agent.device_log.rule import sends_log
from coterie_agent.device_log.thread import LogThread
from coterie_agent.discovery.book import AddressBook, PeerService
from coterie_agent.discovery.opened import CurrentAddresses, Discovery, open_discovery
from coterie_agent.errors import reason_of
from coterie_agent.exclusions import Exclusions
from coterie_agent.forgetting import forget_platform
from coterie_agent.gossip.handler import MAX_BODY_BYTES
from coterie_agent.gossip.opened import Gossip, open_gossip
from coterie_agent.gossip.signalling import PeerSignalling
from coterie_agent.home import Home, load_peer_key
from coterie_agent.island.membership import IslandMembership
from coterie_agent.island.thread import IslandThread
from coterie_agent.label_api import LabelApi
from coterie_agent.link.http import HttpLink
from coterie_agent.link.socket import SocketLink
from coterie_agent.link.tracing import trace_header
from coterie_agent.local_api import LocalApi, LocalApiServer
from coterie_agent.model import is_complete
from coterie_agent.network_page.address import page_address
from coterie_agent.network_page.routes import network_routes
from coterie_agent.network_page.thread import NetworkPage
from coterie_agent.owner_api import OwnerApi
from coterie_agent.owner_page.files import OWNER_PAGE, pages
from coterie_agent.peer_server import PeerHandler, PeerServer
from coterie_agent.peers.context import PeersContext
from coterie_agent.peers.portion_handler import PortionHandler
from coterie_agent.peers.thread import PeersThread
from coterie_agent.relay.handler import RelayHandler
from coterie_agent.relay.load import LoadWatch, measure_load
from coterie_agent.relay.thread import RelayThread
from coterie_agent.renewing import Renewing
from coterie_agent.retrying import warn
from coterie_agent.site import Site
from coterie_agent.situation import Now, Situation
from coterie_agent.store.certificates import CertificateFiles
from coterie_agent.store.database import StoreFull, failure_of_file
from coterie_agent.store.identity import Identity
from coterie_agent.store.journal import Status
from coterie_agent.store.opened import Store
from coterie_agent.threads import start_guarded
from coterie_agent.updating.support import takes_updates
from coterie_agent.updating.thread import UpdatingThread
from coterie_agent.watch import PERIOD_S, ProbeThread
from coterie_agent.worker import Worker
from coterie_wire.bundle import verify_manifest
from coterie_wire.discovery import RECORDS_PATH
from coterie_wire.errors import WireError
from coterie_wire.helping import PORTIONS_PATH
from coterie_wire.island import ISLAND_PATH
from coterie_wire.meeting import MEETINGS_PATH, OfferToMeet
from coterie_wire.messages import Done
from coterie_wire.paths import SendSignal
from coterie_wire.relaying import PATH, OfferToLead, public_key

if TYPE_CHECKING:
    from coterie_agent.direct.paths import DirectPaths

log = logging.getLogger(__name__)
_GRACE_S = 1.5
"""Time for the worker to save its checkpoint when the agent is asked to stop."""
_STATUS_PERIOD_S = 0.25


@dataclass(kw_only=True)
class Runner:
    """One agent on one home."""

    home: Home
    config: Config
    store: Store
    read_conditions: ReadConditions
    situation: Situation
    on_trial: bool = False
    """Whether this release runs on probation: the previous one takes over again unless it works."""
    probe_period_s: float = PERIOD_S

    def run(self) -> None:
        """Run until the situation's `stop` is set. A thread that waits for the network may be left running.

        Raises AgentError ``agent.not_joined``, ``agent.no_credential``, ``local_api.port_taken``, and what the
        situation ended with: the credential's end, or a failure of the agent's own.
        """
        identity = self.store.identity.get()
        link = HttpLink(
            identity.url,
            credential=self.store.identity.credential(),
            record_sent=self._record_sent,
            ca_file=self.config.ca_file,
            certificate=self.home.certificate,
            trace=trace_header(self._assignment) if self.config.traceparent else None,
        )
        renewing = Renewing(self.store.identity, link)
        link.use_former_credential = renewing.use_former_credential
        certifying = Certifying(CertificateFiles(self.home), link)
        link.certify = certifying.certify
        self._restore_model()
        exclusions = self._exclusions()
        discovery = self._discovery(identity, link, exclusions)
        book = None if discovery is None else discovery.book
        island = self._island(identity, exclusions) if self.config.relay.serve else None
        relay_handler = None if island is None else self._relay_handler(identity, island)
        watch = self._watch(relay_handler)
        watch.probe()  # so that the first check-in has current values
        owner = OwnerApi(
            home=self.home,
            config=self.config,
            store=self.store,
            situation=self.situation,
            link=link,
            record_sent=self._record_sent,
        )
        api = LocalApi(home=self.home, config=self.config, store=self.store, situation=self.situation)
        labels = LabelApi(local=api)
        server = self._local_api(api, owner, labels) if self.config.local_api else None
        if server is not None:
            self._start("local-api", server.run)
        self._start("watch", watch.run)
        beside: dict[str, PeerHandler[Any]] = {} if discovery is None else {RECORDS_PATH: discovery.handler}
        gossip, meetings = self._gossip(identity, exclusions), None
        if gossip is not None:
            meetings = self._meetings_server(gossip, beside)
            self._start("meetings-server", meetings.run)
        portions = self._portion_handler() if self.config.direct.connect else None
        paths = None if portions is None else self._paths(identity, link, portions, relay_handler, gossip)
        threads = [
            self._start("contact", self._contact(identity, link, renewing, certifying, exclusions).run),
            self._start("worker", self._worker(identity, link, exclusions, gossip, book, paths).run),
            self._start("companion", self._companion(identity, link, paths, portions).run),
            self._start("answering", self._answering(identity, link).run),
            self._start("updating", self._updating(link).run),
            self._start("log-requests", self._log_requests(link).run),
        ]
        if self.config.page.on_network:
            threads.append(self._start("network-page", self._network_page(identity, owner, labels).run))
        if paths is not None:
            threads.append(self._start("direct-signals", partial(paths.attend, self.situation)))
        relay = None
        if relay_handler is not None and island is not None:
            relay = self._relay(relay_handler, link, book, paths, {**beside, ISLAND_PATH: island})
            voting = IslandThread(membership=island, situation=self.situation, record_sent=self._record_sent, book=book)
            self._start("island", voting.run)
        if relay is not None:
            self._start("relay-server", relay.run)
        if discovery is not None:
            self._start("seeking", discovery.seeking.run)
        log.info("%s runs, %d samples, platform %s", identity.name, self.store.samples.count(), identity.url)
        self._publish_status()
        if server is not None:
            server.close()
        for listener in (relay, meetings):
            if listener is not None:
                listener.server_close()
        if discovery is not None and discovery.local_network is not None:
            discovery.local_network.close()
        until = time.monotonic() + _GRACE_S
        for thread in threads:
            thread.join(max(0.0, until - time.monotonic()))
        if owner.parted:
            forget_platform(self.home, self.store)
        if self.situation.now.ending is not None:
            raise self.situation.now.ending

    def _assignment(self) -> str:
        progress = self.situation.now.progress
        return "" if progress is None else progress.assignment

    def _restore_model(self) -> None:
        """Load the stored version; one with a missing part is not held, so that the platform sends it again."""
        held = self.store.work.held_model()
        if held is not None:
            try:
                manifest = verify_manifest(held, *self.store.identity.keys().pinned())
            except WireError as error:
                log.warning("the model's manifest is damaged and is fetched again: %s [%s]", error.detail, error.code)
                self.store.work.delete_model()
                return
            if is_complete(manifest, BlobCache(self.home.blobs)):
                self.store.samples.fit(manifest.model.classes)
                self.situation.hold(manifest.version, manifest.model)
                known = self.store.variants.load()
                if known is not None and known.version == manifest.version:
                    self.situation.set_forms(known.digest)

    def _watch(self, relay_handler: RelayHandler | None) -> ProbeThread:
        watch = ProbeThread(
            situation=self.situation,
            read=self.read_conditions,
            owner=self.config.policy,
            samples=self.store.samples,
            work=self.store.work,
            choices=self.store.choices,
            free_bytes=lambda: shutil.disk_usage(self.home.root).free,
            period_s=self.probe_period_s,
        )
        if relay_handler is not None:
            watch.check_load = LoadWatch(
                measure=partial(measure_load, self.home.state),
                held=relay_handler.holds,
                max_load=self.config.relay.max_load,
                spare_bytes=self.config.spare_bytes,
            ).check
        return watch

    def _exclusions(self) -> Exclusions:
        """The newest list of excluded devices, as stored before this process began."""
        store = self.store.exclusions
        exclusions = Exclusions(self.store.identity.trusted, store.keep)
        kept = store.find()
        if kept is not None:
            try:
                exclusions.receive(kept)
            except WireError as error:  # the platform's key has changed
                log.info("the list of excluded devices that was kept does not hold: %s", error.detail)
        return exclusions

    def _discovery(self, identity: Identity, link: HttpLink, exclusions: Exclusions) -> Discovery | None:
        """Raises AgentError ``discovery.*``, where the settings ask for what this device cannot do."""
        discovery = open_discovery(
            self.config.discovery,
            own=identity.device,
            store=self.store.neighbours,
            exclusions=exclusions,
            secret=load_peer_key(self.home),
            addresses=CurrentAddresses(partial(self._service_addresses, identity)),
            link=link,
            situation=self.situation,
            record_sent=self._record_sent,
        )
        if discovery is not None and discovery.local_network is not None:
            discovery.local_network.start()
        return discovery

    def _service_addresses(self, identity: Identity) -> Mapping[PeerService, str]:
        """The addresses at which other devices reach this one, by service."""
        meets, leads = self._offer_to_meet(identity), self._offer_to_lead(identity)
        addresses: dict[PeerService, str] = {}
        if meets is not None:
            addresses["meetings"] = meets.address
        if leads is not None:
            addresses["updates"] = leads.address
        return addresses

    def _worker(
        self,
        identity: Identity,
        link: HttpLink,
        exclusions: Exclusions,
        gossip: Gossip | None,
        book: AddressBook | None,
        paths: "DirectPaths | None",
    ) -> Worker:
        return Worker(
            identity=identity,
            config=self.config,
            store=self.store,
            blobs=BlobCache(self.home.blobs),
            variants=BlobCache(self.home.variants),
            link=link,
            situation=self.situation,
            peer_secret=load_peer_key(self.home),
            record_sent=self._record_sent,
            exclusions=exclusions,
            gossip=gossip,
            book=book,
            paths=paths,
        )

    def _gossip(self, identity: Identity, exclusions: Exclusions) -> Gossip | None:
        """None: the owner does not let the device take part in gossip meetings."""
        if not self.config.gossip.meet:
            return None
        return open_gossip(
            device=identity.device,
            exclusions=exclusions,
            secret=load_peer_key(self.home),
            record_sent=self._record_sent,
            is_relay=self.config.relay.serve,
        )

    def _meetings_server(self, gossip: Gossip, beside: Mapping[str, PeerHandler[Any]]) -> PeerServer:
        """Raises AgentError ``relay.port_taken``."""
        others = {path: handler for path, handler in gossip.handlers.items() if path != MEETINGS_PATH}
        return PeerServer(
            self.config.gossip.port,
            gossip.handler,
            path=MEETINGS_PATH,
            max_body_bytes=MAX_BODY_BYTES,
            beside={**beside, **others},
            table="gossip",
        )

    def _island(self, identity: Identity, exclusions: Exclusions) -> IslandMembership:
        return IslandMembership(
            device=identity.device,
            trusted=self.store.identity.trusted,
            secret=load_peer_key(self.home),
            store=self.store.island,
            exclusions=exclusions,
        )

    def _relay_handler(self, identity: Identity, island: IslandMembership) -> RelayHandler:
        return RelayHandler(
            device=identity.device,
            trusted=self.store.identity.trusted,
            secret=load_peer_key(self.home),
            folder=self.home.relay,
            sums_folder=self.home.relay_sums,
            members=self.config.relay.members,
            island=island,
            exclusions=island.exclusions,
        )

    def _relay(
        self,
        handler: RelayHandler,
        link: HttpLink,
        book: AddressBook | None,
        paths: "DirectPaths | None",
        beside: Mapping[str, PeerHandler[Any]],
    ) -> PeerServer:
        """Start the supernode's thread; the server is run by the caller. Raises AgentError ``relay.port_taken``."""
        server = PeerServer(self.config.relay.port, handler, path=PATH, beside=beside)
        thread = RelayThread(
            handler=handler,
            link=link,
            situation=self.situation,
            chunk_bytes=self.config.chunk_bytes,
            record_sent=self._record_sent,
            book=book,
            paths=paths,
        )
        self._start("relay", thread.run)
        return server

    def _offer_to_lead(self, identity: Identity) -> OfferToLead | None:
        relay = self.config.relay
        if not relay.serve:
            return None
        address = relay.address or own_address(identity.url)
        return OfferToLead(address=with_port(address, relay.port), members=relay.members, sums=True, islands=True)

    def _offer_to_meet(self, identity: Identity) -> OfferToMeet | None:
        gossip = self.config.gossip
        if not gossip.meet:
            return None
        return OfferToMeet(address=with_port(gossip.address or own_address(identity.url), gossip.port))

    def _contact(
        self, identity: Identity, link: HttpLink, renewing: Renewing, certifying: Certifying, exclusions: Exclusions
    ) -> Contact:
        open_socket = partial(
            SocketLink,
            identity.url,
            record_sent=self._record_sent,
            ca_file=self.config.ca_file,
            certificate=self.home.certificate,
        )
        return Contact(
            situation=self.situation,
            samples=self.store.samples,
            labelling=self.store.labelling,
            peers=self.store.peers,
            work=self.store.work,
            agreements=self.store.agreements,
            promises=self.store.promises,
            journal=self.store.journal,
            latencies=self.store.latencies,
            check_ins=self.store.check_ins,
            capabilities=capabilities(),
            https=link,
            open_socket=lambda on_wake, on_close: open_socket(
                credential=self.store.identity.credential(), on_wake=on_wake, on_close=on_close
            ),
            check_in_s=identity.check_in_s,
            identity=self.store.identity,
            renewing=renewing,
            certifying=certifying,
            exclusions=exclusions,
            certifies=identity.url.startswith("https:"),
            tell=self.config.peers.tell,
            peer_key=public_key(load_peer_key(self.home)),
            leads=self._offer_to_lead(identity),
            meets=self._offer_to_meet(identity),
            answers=offer_to_answer(self.config.questions),
            platform_offer=self.store.platform_offer,
            asks_platform=self.config.platform.send_samples,
            opens_paths=self.config.direct.connect,
            takes_updates=takes_updates(self.home, self.config.updates),
            sends_log=sends_log(self.config.logs),
        )

    def _portion_handler(self) -> PortionHandler:
        return PortionHandler(store=self.store.peers, secret=load_peer_key(self.home), record_sent=self._record_sent)

    def _paths(
        self,
        identity: Identity,
        link: HttpLink,
        portions: PortionHandler,
        relay_handler: RelayHandler | None,
        gossip: Gossip | None,
    ) -> "DirectPaths":
        """Raises AgentError ``direct.no_aioice``."""
        from coterie_agent.direct.paths import DirectPaths, check_installed  # only here: it loads asyncio

        check_installed()
        handlers: dict[str, PeerHandler[Any]] = {PORTIONS_PATH: portions}
        if relay_handler is not None:
            handlers[PATH] = relay_handler
        paths = DirectPaths(
            own=identity.device,
            secret=load_peer_key(self.home),
            send=partial(_send_signal, link),
            handlers=handlers,
        )
        if gossip is not None:
            handlers.update(gossip.handlers)
            signalling = PeerSignalling(
                own=identity.device,
                reaching=gossip.reaching,
                situation=self.situation,
                to_platform=paths.send,
                passing=gossip.passing,
            )
            paths.send, paths.most_bytes, gossip.reaching.paths = signalling.send, MAX_BODY_BYTES, paths
            self._start("peer-signals", partial(signalling.attend, paths.receive))
        return paths

    def _companion(
        self, identity: Identity, link: HttpLink, paths: "DirectPaths | None", handler: PortionHandler | None
    ) -> PeersThread:
        blobs, portions = BlobCache(self.home.blobs), BlobCache(self.home.portions)
        context = PeersContext(self.config, self.store, blobs, portions, link, self.situation, paths, handler)
        return PeersThread(identity=identity, agent=context)

    def _answering(self, identity: Identity, link: HttpLink) -> AnsweringThread:
        return AnsweringThread(
            identity=identity, config=self.config, store=self.store, link=link, situation=self.situation
        )

    def _updating(self, link: HttpLink) -> UpdatingThread:
        return UpdatingThread(
            home=self.home,
            settings=self.config.updates,
            work=self.store.work,
            link=link,
            situation=self.situation,
            on_trial=self.on_trial,
        )

    def _log_requests(self, link: HttpLink) -> LogThread:
        return LogThread(
            home=self.home, settings=self.config.logs, store=self.store, link=link, situation=self.situation
        )

    def _local_api(self, api: LocalApi, owner: OwnerApi, labels: LabelApi) -> LocalApiServer:
        return LocalApiServer(api, routes={**owner.routes(), **labels.routes()}, pages=pages(OWNER_PAGE))

    def _network_page(self, identity: Identity, owner: OwnerApi, labels: LabelApi) -> NetworkPage:
        settings = self.config.page
        routes = network_routes(owner, labels, show_samples=settings.show_samples, record_sent=self._record_sent)
        return NetworkPage(
            home=self.home,
            find=partial(page_address, settings, partial(own_address, identity.url)),
            phones=self.store.phones,
            site=Site(routes=routes, pages=pages(OWNER_PAGE), keeps_connections=True),
            situation=self.situation,
        )

    def _start(self, name: str, run: Callable[[], None]) -> threading.Thread:
        return start_guarded(
            name,
            run,
            is_stopping=lambda: self.situation.now.stopping,
            end=self.situation.end,
            explain=partial(failure_of_file, self.home.root),
        )

    def _publish_status(self) -> None:
        """Write the status whenever it changes, for `status` and `why`, until the situation's `stop` is set."""
        while not (now := self.situation.now).stopping:
            self._write_status(now)
            self.situation.wait_for_stop(_STATUS_PERIOD_S)
            self.situation.wait(now.edition, None)
        self._write_status(self.situation.now)

    def _write_status(self, now: Now) -> None:
        try:
            self.store.journal.write_status(_status(now))
        except StoreFull as error:  # readers see an older one; the agent continues
            warn(error)

    def _record_sent(self, what: str, size_bytes: int) -> None:
        self.store.journal.record_sent(what, size_bytes, day=date.today().isoformat())  # the owner's day


def _send_signal(link: HttpLink, signal: SendSignal) -> None:
    link.call(signal, Done)


def _status(now: Now) -> Status:
    return Status(
        at=time.time(),
        link=now.link,
        link_problem=now.link_problem,
        conditions=now.conditions,
        blockers=now.blockers,
        wait=now.directive.wait if now.directive else None,
        progress=now.progress,
        version=now.version,
        peers=now.peers,
        sum_wait=now.sum_wait,
        question_wait=now.question_wait,
        budget_wait=now.budget_wait,
        update_wait=now.update_wait,
        island=now.island,
        federations=(now.directive.federations or ()) if now.directive else (),
        ended=None if now.ending is None else reason_of(now.ending),
    )
