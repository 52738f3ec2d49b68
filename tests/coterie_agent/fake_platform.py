"""A platform on loopback with real sockets, as small as the protocol allows, that can be told to misbehave."""

import hashlib
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_WR
from typing import Any

import msgspec
from websockets.datastructures import Headers
from websockets.exceptions import InvalidState
from websockets.frames import Opcode
from websockets.http11 import Request as UpgradeRequest
from websockets.protocol import State
from websockets.server import ServerProtocol

from coterie_wire.bundle import SignedManifest
from coterie_wire.conditions import Requirements
from coterie_wire.evaluating import Evaluate, ReportEvaluation
from coterie_wire.invitation import Invitation, Learned, ReadInvitation
from coterie_wire.message import Message
from coterie_wire.messages import (
    EXCHANGES,
    Assignment,
    Capabilities,
    CheckIn,
    Directive,
    Done,
    Enrol,
    Enrolled,
    Leave,
    OfferUpdate,
    PrivacyBudget,
    Problem,
    Refusal,
    ReleaseAssignment,
    Reply,
    Request,
    UploadState,
    Wake,
)
from coterie_wire.owning import ExportPage, Forget, ForgetNews, HoldsUpdate, ReadExport, ReadReceipt
from coterie_wire.secure_sum import AskSum, JoinSum, OfferMasked, ReadLog, RevealShares, ShareSecrets
from coterie_wire.trial import ReportTrial, ShadowTrial, Trial
from coterie_wire.updating import AgentUpdate
from coterie_wire.variants import digest_of
from tests.coterie_agent import summing
from tests.coterie_agent.bundles import Bundle

TOKEN, CREDENTIAL = "one-time", "secret"
STRANGERS = ("read-invitation", "enrol", "read-receipt")
TIMEOUT_S = 20
PLAN = {
    "local": {"kind": "sgd", "epochs": 3, "learning_rate": 0.5},
    "codec": {"kind": "int8"},
    "privacy": {"kind": "none"},
    "requirements": {},
    "help": {"kind": "none"},
}


class Denied(Exception):
    """A request that the platform refuses."""

    def __init__(self, status: int, code: str, detail: str = "no") -> None:
        super().__init__(detail)
        self.problem = Problem(code=code, title=code, status=status, detail=detail)


class FakePlatform:
    """One device's platform. Every request is kept; `wait_for` waits until what was seen satisfies a condition."""

    def __init__(self, bundle: Bundle) -> None:
        self.bundle = bundle
        self.seen = threading.Condition(threading.RLock())
        self.check_ins: list[CheckIn] = []
        self.capabilities: Capabilities | None = None
        """As the device told last."""
        self.received: list[Message] = []
        self.assignment: Assignment | None = None
        self.champion = False
        self.ignores_unknown = False
        """It passes over fields that it does not know, as all platforms but those of 0.1."""
        self.learned: tuple[Learned, ...] = (Learned("digits", ("red", "green"), Requirements(), "none"),)
        """What it tells those who think of joining."""
        self.member = True
        """Whether the device belongs to a federation."""
        self.candidate: Bundle | None = None
        """What the device is to try against the platform's version, until it tells how it does."""
        self.reports: list[ReportTrial] = []
        self.shadow: Bundle | None = None
        """A candidate that is to answer beside the platform's version; the outcome is wanted in `shadow_s`."""
        self.shadow_s = 0.0
        self.evaluated: Bundle | None = None
        """What the device is to evaluate, until it tells how it does."""
        self.evaluations: list[ReportEvaluation] = []
        self.sockets_allowed = True
        self.socket_count = 0
        self.uploads: dict[str, bytearray] = {}
        self.offers: dict[str, OfferUpdate] = {}
        self.accepted: dict[str, bytes] = {}
        self.blob_ranges: list[str | None] = []
        self.headers: list[Mapping[str, str]] = []
        """Of each request over HTTP."""
        self.fault: Callable[[str], None] | None = None
        """Called with each request's path first; it raises Denied, or ConnectionError to cut the link."""
        self.chunk_limit: int | None = None
        """Bytes of a chunk that are stored before the link is cut, once."""
        self.forgetful = False
        """Answers chunks without storing them."""
        held = HoldsUpdate("digits", 3, "v3", "2026-01-01T12:00:00+00:00")
        self.forgetting = ForgetNews("", True, "gone", "2026-01-01", "d1", 1, {"updates": 2}, (held,), 1)
        """What it says of a device that is forgotten, under whatever number."""
        self.update: AgentUpdate | None = None
        self.variants: SignedManifest | None = None
        """Smaller forms of its version, for devices that do not know them."""
        self.forgotten: set[str] = set()
        """Receipts of devices that were forgotten."""
        self.known: Mapping[str, tuple[msgspec.Raw, ...]] = {}
        """By section, what the device's owner reads of it; two rows a page."""
        self.check_in_s = 30.0
        self.sum: summing.Platform | None = None
        """The secure sum that the device's update goes into."""
        self.others: list[summing.Device] = []
        """They take their turns in it whenever the device asks what to do."""
        self._connections: list[tuple[ServerProtocol, Any]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self._server.handle_error = lambda request, client: None  # type: ignore[method-assign]  # killed devices hang up
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def wait_for(self, condition: Callable[[], object]) -> None:
        with self.seen:
            if not self.seen.wait_for(condition, TIMEOUT_S):
                raise TimeoutError(f"not seen; the last check-in was {self.check_ins[-1:]}")

    def assign(
        self,
        name: str,
        *,
        remaining_s: float = 600.0,
        plan: dict[str, object] | None = None,
        stream_index: int | None = None,
        budget: PrivacyBudget | None = None,
    ) -> None:
        with self.seen:
            self.assignment = Assignment(
                assignment=name,
                federation="digits",
                round=1,
                plan=msgspec.Raw(msgspec.json.encode(plan or PLAN)),
                manifest=self.bundle.signed,
                seed=11,
                remaining_s=remaining_s,
                stream_index=stream_index,
                budget=budget,
            )
        self.wake()

    def wake(self) -> None:
        frame = msgspec.json.encode(Wake())
        for protocol, socket in list(self._connections):
            with suppress(InvalidState, OSError):  # of an agent that is being stopped
                protocol.send_text(frame)
                _flush(protocol, socket)

    def cut_sockets(self) -> None:
        for _, socket in list(self._connections):
            socket.shutdown(2)

    def handle(self, name: str, body: bytes) -> Message:
        """The reply to a message, over whichever way it came."""
        message = msgspec.json.decode(body, type=EXCHANGES[name].request)
        with self.seen:
            self.received.append(message)
            try:
                return self._reply(message)
            finally:
                self.seen.notify_all()

    def _reply(self, message: Message) -> Message:
        match message:
            case ReadInvitation(token=token) | Enrol(token=token) if token != TOKEN:
                raise Denied(403, "fleet.token_invalid", "the token is not known")
            case ReadInvitation():
                return Invitation(devices_left=1, expires_s=60, learned=self.learned)
            case Enrol():
                return Enrolled(
                    device="d1",
                    credential=CREDENTIAL,
                    platform_key=self.bundle.platform_key,
                    check_in_s=self.check_in_s,
                )
            case CheckIn():
                self.check_ins.append(message)
                self.capabilities = message.capabilities or self.capabilities
                if self.candidate is not None and self.assignment is None:
                    return self._candidate_directive(self.candidate, message.version)
                manifest = self.bundle.signed if self.champion and message.version != "v1" else None
                return Directive(
                    check_in_s=self.check_in_s,
                    assignment=self.assignment,
                    manifest=manifest,
                    requirements=Requirements() if self.member else None,
                    variants=self._variants_for(message),
                    ignores_unknown=self.ignores_unknown or self.variants is not None or self.evaluated is not None,
                    evaluate=self._evaluate(),
                    shadow=self._shadow(),
                    update=self.update,
                )
            case ReportTrial():
                self.reports.append(message)
            case ReportEvaluation():
                self.evaluations.append(message)
            case OfferUpdate(assignment=name):
                if name in self.accepted:
                    return UploadState(offset=message.size_bytes, accepted=True)
                self.offers[name] = message
                return UploadState(offset=len(self.uploads.setdefault(name, bytearray())))
            case ReadLog() | AskSum() | JoinSum() | ShareSecrets() | OfferMasked() | RevealShares() if (
                self.sum is not None
            ):
                if isinstance(message, AskSum):
                    for other in self.others:
                        other.turn()
                return self.sum.handle("d1", message)
            case ReleaseAssignment(assignment=name):
                if self.assignment is not None and self.assignment.assignment == name:
                    self.assignment = None
            case ReadExport(section=section, after=after):
                if not section:
                    return ExportPage(sections=tuple(self.known))
                begin = int(after or 0)
                rows, end = self.known[section][begin : begin + 2], begin + 2
                return ExportPage(rows=rows, after=str(end) if end < len(self.known[section]) else "")
            case Forget(receipt=receipt) | ReadReceipt(receipt=receipt):
                if isinstance(message, ReadReceipt) and receipt not in self.forgotten:
                    raise Denied(404, "owners.unknown_receipt")
                self.forgotten.add(receipt)
                return msgspec.structs.replace(self.forgetting, receipt=receipt)
            case Leave():
                pass
        return Done()

    def _shadow(self) -> ShadowTrial | None:
        if self.shadow is None or self.reports:
            return None
        return ShadowTrial(rollout="r1", candidate=self.shadow.signed, remaining_s=self.shadow_s)

    def _evaluate(self) -> Evaluate | None:
        if self.evaluated is None or self.evaluations:
            return None
        return Evaluate(evaluation="e1", manifest=self.evaluated.signed, remaining_s=600.0)

    def _variants_for(self, message: CheckIn) -> SignedManifest | None:
        wanted = self.variants is not None and message.version == "v1" and message.variants is not None
        return self.variants if wanted and message.variants != digest_of(self.variants) else None

    def _candidate_directive(self, candidate: Bundle, held: str | None) -> Directive:
        version = candidate.manifest.version
        return Directive(
            check_in_s=self.check_in_s,
            requirements=Requirements(),
            manifest=None if held == version else candidate.signed,
            trial=None if self.reports else Trial(rollout="r1", candidate=version, champion=self.bundle.signed),
        )

    def receive_chunk(self, name: str, offset: int, chunk: bytes) -> UploadState:
        with self.seen:
            if self.sum is not None:
                return self.sum.receive("d1", offset, chunk)
            stored = self.uploads[name]
            if offset != len(stored):
                raise Denied(409, "upload.wrong_offset")
            if self.forgetful:
                return UploadState(offset=len(stored))
            if self.chunk_limit is not None:
                stored += chunk[: self.chunk_limit]
                self.chunk_limit = None
                raise ConnectionError
            stored += chunk
            complete = len(stored) == self.offers[name].size_bytes
            if complete:
                assert hashlib.sha256(stored).hexdigest() == self.offers[name].sha256
                self.accepted[name] = bytes(stored)
                self.assignment = None
            self.seen.notify_all()
            return UploadState(offset=len(stored), accepted=complete)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        platform = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                name = self.path.removeprefix("/device/v1/")
                self._guarded(lambda: platform.handle(name, self._body()), name not in STRANGERS)

            def do_PATCH(self) -> None:
                name, offset = self.path.removeprefix("/device/v1/uploads/"), int(self.headers["Upload-Offset"])
                self._guarded(lambda: platform.receive_chunk(name, offset, self._body()))

            def do_GET(self) -> None:
                if self.path == "/device/v1/socket":
                    platform.serve_socket(self)
                else:
                    self._guarded(self._blob)

            def _blob(self) -> bytes:
                beside = [
                    bundle for bundle in (platform.candidate, platform.evaluated, platform.shadow) if bundle is not None
                ]
                blobs = {name: blob for bundle in (platform.bundle, *beside) for name, blob in bundle.blobs.items()}
                content = blobs[self.path.removeprefix("/device/v1/blobs/")]
                platform.blob_ranges.append(self.headers.get("Range"))
                start = int((self.headers.get("Range") or "bytes=0-")[6:-1])
                return content[start:]

            def _body(self) -> bytes:
                return self.rfile.read(int(self.headers["Content-Length"]))

            def _guarded(self, answer: Callable[[], Message | bytes], authorised: bool = True) -> None:
                platform.headers.append(dict(self.headers.items()))
                try:
                    if platform.fault is not None:
                        platform.fault(self.path)
                    if authorised and self.headers.get("Authorization") != f"Bearer {CREDENTIAL}":
                        raise Denied(401, "fleet.revoked", "the credential has ended")
                    content = answer()
                    ranged = isinstance(content, bytes) and "Range" in self.headers
                    self._send(206 if ranged else 200, content)
                except Denied as denied:
                    self.close_connection = True
                    self._send(denied.problem.status, denied.problem)
                except ConnectionError:
                    self.close_connection = True

            def _send(self, status: int, content: msgspec.Struct | bytes) -> None:
                body = content if isinstance(content, bytes) else msgspec.json.encode(content)
                self.send_response(status)
                self.send_header("Content-Length", str(len(body)))
                if self.close_connection:
                    self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler

    def serve_socket(self, handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        if not self.sockets_allowed:
            handler.send_error(404)
            return
        protocol, socket = ServerProtocol(), handler.connection
        protocol.receive_data(UpgradeRequest(handler.path, Headers(handler.headers.items())).serialize())
        (request,) = protocol.events_received()
        protocol.send_response(protocol.accept(request))
        _flush(protocol, socket)
        if protocol.state is not State.OPEN:
            return
        connection = (protocol, socket)
        with self.seen:
            self._connections.append(connection)
            self.socket_count += 1
            self.seen.notify_all()
        try:
            while data := socket.recv(65536):
                protocol.receive_data(data)
                for frame in protocol.events_received():
                    if frame.opcode is Opcode.TEXT:
                        protocol.send_text(self._answer(frame.data))
                _flush(protocol, socket)
        except OSError:
            pass
        finally:
            self._connections.remove(connection)

    def _answer(self, frame: bytes) -> bytes:
        request = msgspec.json.decode(frame, type=Request)
        try:
            body = msgspec.json.encode(self.handle(request.name, bytes(request.body)))
            return msgspec.json.encode(Reply(id=request.id, body=msgspec.Raw(body)))
        except Denied as denied:
            return msgspec.json.encode(Refusal(id=request.id, problem=denied.problem))


def _flush(protocol: ServerProtocol, socket: Any) -> None:
    for data in protocol.data_to_send():
        if data:
            socket.sendall(data)
        else:
            socket.shutdown(SHUT_WR)


@contextmanager
def fake_platform(bundle: Bundle) -> Iterator[FakePlatform]:
    platform = FakePlatform(bundle)
    try:
        yield platform
    finally:
        platform.close()
