"""What the device does with the platform's answer before anybody else of the agent acts on it."""

from coterie_agent.contact import Contact
from coterie_agent.link.failure import Unreachable
from coterie_agent.situation import Situation
from coterie_agent.store.opened import Store
from coterie_agent.store.personal_model import Own, PersonalTensors
from coterie_wire.messages import Capabilities, Directive


class Noted(Situation):
    """Notes which own model there was when the answer became known, and ends the agent."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store
        self.own: Own | None = None

    def direct(self, directive: Directive, *, at: float) -> None:
        self.own = self._store.peers.own()
        super().direct(directive, at=at)
        self.stop()


class Answering:
    """A platform that has rolled version 5 back."""

    def call(self, _message: object, _reply: object) -> Directive:
        return Directive(check_in_s=15, withdrawn=("v5",))


def no_socket(_on_wake: object, _on_close: object) -> object:
    raise Unreachable("no answer")


def test_an_own_model_that_is_to_go_has_gone_before_a_round_can_begin_with_it(store: Store) -> None:
    store.peers.adopt(PersonalTensors("v4", b"of four"))
    store.peers.adopt(PersonalTensors("v5", b"of five"))
    situation = Noted(store)
    contact = Contact(
        situation=situation,
        samples=store.samples,
        peers=store.peers,
        work=store.work,
        journal=store.journal,
        capabilities=Capabilities(cores=1, memory_bytes=1, machine="any", agent="any"),
        https=Answering(),
        open_socket=no_socket,
        check_in_s=15,
        tell="counts",
    )
    contact.run()
    assert situation.own is not None
    assert situation.own.base == "v4"
