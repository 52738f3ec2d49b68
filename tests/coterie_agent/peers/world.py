"""A device's side of the peers it keeps, in this process: a link that answers as it is told."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
import numpy as np

from coterie_agent.blobs import BlobCache
from coterie_agent.config import Config
from coterie_agent.home import Home
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.peers.context import PeersContext
from coterie_agent.peers.thread import PeersThread
from coterie_agent.predicting import load_held_model
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.samples import Row
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.device_plan import DevicePlan
from coterie_learning.help import Help
from coterie_learning.help.cartel import Cartel
from coterie_learning.local import Local
from coterie_learning.local.sgd import Sgd
from coterie_learning.privacy.none import NoPrivacy
from coterie_wire.bundle import BlobRef
from coterie_wire.conditions import Conditions, Requirements
from coterie_wire.helping import AskHelp, HelpNews, OfferPortion, Portion, Serve, StandingPlan
from coterie_wire.message import Message
from coterie_wire.messages import Directive, Done, Problem, UploadState
from coterie_wire.predictions import Prediction
from coterie_wire.tensors import Tensors
from tests.coterie_agent.bundles import CLASSES, FEATURES, Bundle, make_bundle

CARTEL = Cartel(portion="head", report_batches=3, recent_batches=2, window_batches=4, cool_down_batches=2)
CENTRES = np.array([[2, 0, 0, 0], [0, 2, 0, 0], [0, 0, 2, 0]], dtype=np.float32)
GOOD = {"weight": 3 * CENTRES, "bias": np.zeros(CLASSES, np.float32)}
"""Parameters that know every class."""


def plan(
    help_: Help = CARTEL,
    *,
    local_training_every_s: float | None = 0.0,
    spares_newest: bool = False,
    local: Local = Sgd(epochs=1, learning_rate=0.5),  # noqa: B008 - frozen
) -> DevicePlan:
    return DevicePlan(
        local=local,
        codec=Float32Codec(),
        privacy=NoPrivacy(),
        requirements=Requirements(),
        help=help_,
        local_training_every_s=local_training_every_s,
        spares_newest=spares_newest,
    )


def standing(of: DevicePlan) -> StandingPlan:
    content = msgspec.json.encode(of)
    return StandingPlan(hashlib.sha256(content).hexdigest(), "digits", msgspec.Raw(content))


def batch(classes: tuple[int, ...], *, seed: int = 0) -> list[Row]:
    """A sample of each of `classes`, near its centre."""
    rng = np.random.default_rng(seed)
    x = CENTRES[list(classes)] + rng.normal(scale=0.1, size=(len(classes), FEATURES)).astype(np.float32)
    return [Row(row.astype(np.float32).tobytes(), label) for row, label in zip(x, classes, strict=True)]


@dataclass
class Link:
    """What the device sends, and what it is answered."""

    sent: list[Message] = field(default_factory=list)
    portion: bytes = b""
    uploaded: bytearray = field(default_factory=bytearray)
    fault: Exception | None = None
    """Raised once, by whatever is called next."""

    def call(self, message: Message, reply: type[Any]) -> Message:
        self._fail()
        self.sent.append(message)
        if isinstance(message, AskHelp):
            return HelpNews(message.request, "asked")
        if isinstance(message, OfferPortion):
            return UploadState(len(self.uploaded), accepted=len(self.uploaded) == message.size_bytes)
        return Done()

    def upload(self, what: str, key: str, *, offset: int, chunk: bytes) -> UploadState:
        assert (what, offset) == ("portion", len(self.uploaded))
        self.uploaded += chunk
        (offer,) = {message for message in self.sent if isinstance(message, OfferPortion)}
        self._fail()
        return UploadState(len(self.uploaded), accepted=len(self.uploaded) == offer.size_bytes)

    def download_portion(self, transfer: str, offset: int) -> Iterator[bytes]:
        self._fail()
        yield self.portion[offset:]

    def named(self, kind: type[Message]) -> list[Any]:
        """The messages of a kind, oldest first."""
        return [message for message in self.sent if type(message) is kind]

    def _fail(self) -> None:
        fault, self.fault = self.fault, None
        if fault is not None:
            raise fault


def unreachable() -> Unreachable:
    return Unreachable("no answer")


def refused(code: str, status: int) -> Refused:
    return Refused(Problem(code=code, title=code, status=status, detail="no"))


class Device:
    """A device that holds a version; it takes the next step when it is told to."""

    def __init__(self, home: Home, store: Store, bundle: Bundle, settings: dict[str, object]) -> None:
        self.home, self.store, self.bundle = home, store, bundle
        self.config = msgspec.convert({"peers": settings}, Config)
        self.link = Link()
        cache = BlobCache(home.blobs)
        for sha256, content in bundle.blobs.items():
            cache.fetch(BlobRef(sha256, len(content)), lambda _sha, _offset, c=content: iter([c]), stop=lambda: False)
        store.work.hold_model(bundle.signed)
        self.start()

    def start(self) -> None:
        """As after a kill: nothing is known but what the store knows."""
        self.situation = Situation()
        self.situation.set_conditions(Conditions(charging="yes", network="wifi"), ())
        self.situation.hold(self.bundle.manifest.version, self.bundle.manifest.model)
        self.companion = PeersThread(
            identity=self.store.identity.get(),
            agent=PeersContext(
                config=self.config,
                store=self.store,
                blobs=BlobCache(self.home.blobs),
                portions=BlobCache(self.home.portions),
                link=self.link,  # type: ignore[arg-type]  # as much of it as is used
                situation=self.situation,
            ),
        )

    def direct(self, of: DevicePlan | None, **more: object) -> None:
        """The platform answers a check-in."""
        stands = None if of is None else standing(of)
        told = {"stands": stands is not None, "standing": stands, **more}
        self.situation.set_directive(Directive(check_in_s=15, **told), at=0.0)

    def live(self, *, steps: int = 60) -> None:
        """Until nothing is due."""
        for _ in range(steps):
            if not self.companion.step():
                return
        raise AssertionError(f"still busy after {steps} steps; the last message was {self.link.sent[-1:]}")

    def take(self, *batches: tuple[int, ...]) -> None:
        """New samples, batch by batch, and whatever is due after each."""
        for number, classes in enumerate(batches):
            self.store.samples.add(batch(classes, seed=number), max_samples=1000)
            self.live()

    def ask_news(self, state: str, portion: bytes | None = None, **more: object) -> HelpNews:
        """How the platform says that the request in hand stands."""
        asked = self.store.peers.open_request()
        assert asked is not None
        if portion is None:
            return HelpNews(asked.request, state, **more)
        self.link.portion = portion
        return HelpNews(asked.request, state, portion=Portion("t-1", BlobRef.of_bytes(portion), 60.0))


def serve(of: DevicePlan, classes: tuple[int, ...] = (2,)) -> Serve:
    return Serve("t-9", "digits", standing(of).digest, classes, 60.0)


def rows(parameters: dict[str, np.ndarray], classes: tuple[int, ...] = (2,)) -> bytes:
    """The portion of `parameters` for `classes`, as a helper sends it."""
    portion = {"rows": parameters["weight"][list(classes)], "biases": parameters["bias"][list(classes)]}
    return Float32Codec().encode(portion, seed=0).payload


def version(number: int, parameters: Tensors) -> Bundle:
    return make_bundle(version=f"v{number}", number=number, tensors=dict(parameters))


def accuracy(device: Device) -> float:
    """Of what the owner is answered, over fresh samples of all classes."""
    held = load_held_model(device.store, device.home, threads=1)
    fresh: list[Row] = [row for seed in range(100, 110) for row in batch((0, 1, 2), seed=seed)]
    found = held.predict(fresh)
    right = [isinstance(one, Prediction) and one.index == row.label for one, row in zip(found, fresh, strict=True)]
    return float(np.mean(right))
