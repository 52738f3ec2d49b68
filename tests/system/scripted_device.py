"""A device that speaks the wire and does as a test tells it; its updates are fixed bytes."""

import hashlib

import httpx
import msgspec

from coterie_wire.conditions import Conditions, Reason
from coterie_wire.message import Message
from coterie_wire.messages import (
    EXCHANGES,
    Assignment,
    Capabilities,
    CheckIn,
    DataMetadata,
    Directive,
    Enrol,
    Enrolled,
    OfferUpdate,
    Problem,
    UploadState,
)
from coterie_wire.version import PROTOCOL
from tests.system.eventually import eventually

NAMES = {exchange.request: (name, exchange.reply) for name, exchange in EXCHANGES.items()}
CAPABILITIES = Capabilities(cores=4, memory_bytes=1 << 30, machine="aarch64 Linux", agent="0.1.0")
ON_BATTERY = Reason("conditions.on_battery", "on battery; the federation asks for charging")
SAMPLES = 40


class Refused(Exception):
    """The platform said no."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(f"{problem.status} {problem.code}: {problem.detail}")
        self.problem = problem


class ScriptedDevice:
    """One enrolled device."""

    def __init__(self, url: str, token: str, name: str, capabilities: Capabilities = CAPABILITIES) -> None:
        self.http = httpx.Client(base_url=f"{url}/device/v1", timeout=30)
        enrolled = self.call(Enrol(protocol=PROTOCOL, token=token, name=name, capabilities=capabilities))
        assert isinstance(enrolled, Enrolled)
        self.id, self.credential = enrolled.device, enrolled.credential
        self.http.headers["Authorization"] = f"Bearer {enrolled.credential}"

    def call(self, message: Message) -> Message:
        """The reply to a message, which is sent again when the link breaks. Raises Refused."""
        name, reply = NAMES[type(message)]

        def look() -> httpx.Response | None:
            try:
                return self.http.post(f"/{name}", content=msgspec.json.encode(message))
            except httpx.TransportError:
                return None

        return msgspec.json.decode(_checked(eventually(look)), type=reply)

    def check_in(self, *, ready: bool = True) -> Directive:
        """Tell whether it would train."""
        directive = self.call(
            CheckIn(
                protocol=PROTOCOL,
                conditions=Conditions(charging="yes" if ready else "no", network="wifi"),
                blockers=() if ready else (ON_BATTERY,),
                metadata=DataMetadata(samples=SAMPLES),
            )
        )
        assert isinstance(directive, Directive)
        return directive

    def assignment(self, number: int) -> Assignment:
        """Its part in round `number`, once it is asked to take part."""

        def look() -> Assignment | None:
            assignment = self.check_in().assignment
            return assignment if assignment is not None and assignment.round == number else None

        return eventually(look)

    def offer(self, assignment: str, payload: bytes, **facts: object) -> UploadState:
        """Announce an update, or ask how far it came."""
        offer = OfferUpdate(
            assignment=assignment,
            sha256=hashlib.sha256(payload).hexdigest(),
            size_bytes=len(payload),
            samples=SAMPLES // 2,
            steps_done=5,
            steps_total=5,
            loss_before=1.5,
            loss_after=1.0,
            accuracy_before=0.5,
            train_s=0.1,
        )
        state = self.call(msgspec.structs.replace(offer, **facts))
        assert isinstance(state, UploadState)
        return state

    def send(self, assignment: str, content: bytes, offset: int) -> UploadState:
        """One piece of an update."""
        headers = {"Upload-Offset": str(offset)}
        answer = self.http.patch(f"/uploads/{assignment}", content=content, headers=headers)
        return msgspec.json.decode(_checked(answer), type=UploadState)

    def deliver(self, assignment: str, payload: bytes) -> None:
        """Bring an update to the platform, however often it is killed on the way."""

        def look() -> bool:
            try:
                state = self.offer(assignment, payload)
                if not state.accepted:
                    state = self.send(assignment, payload[state.offset :], state.offset)
            except httpx.TransportError:
                return False
            return state.accepted

        eventually(look)

    def close(self) -> None:
        self.http.close()


def _checked(answer: httpx.Response) -> bytes:
    if answer.is_success:
        return answer.content
    assert answer.headers["content-type"] == "application/problem+json", answer.text
    raise Refused(msgspec.json.decode(answer.content, type=Problem))
