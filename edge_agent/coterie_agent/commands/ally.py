"""``coterie-agent ally``: vertical training with another party that has other columns about the same people."""

import csv
import threading
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.until_stopped import log_to_stderr, stop_on_signal
from coterie_agent.config import load_config
from coterie_agent.errors import AgentError, Exit
from coterie_agent.home import Home, RunLock, load_peer_key
from coterie_agent.link.http import HttpLink
from coterie_agent.store.opened import Store, open_store
from coterie_wire.relaying import public_key

_KEY_BYTES = 32


class OwnKey(msgspec.Struct, frozen=True):
    key: str


class Allied(msgspec.Struct, frozen=True):
    """The progress of an alliance."""

    alliance: str
    stage: str
    """``stopped``: by the owner; the same command resumes."""
    common: int = 0
    """People whom both parties know."""
    accuracy: float | None = None
    """On people held out; None at the party without labels."""
    predicted: int = 0
    """People without a label whose label was predicted."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``, ``agent.already_running``, ``alliance.…``, WireError, or Refused."""
    home = Home(arguments.home)
    config = load_config(home.config)
    with open_store(home) as store:
        identity = store.identity.get()
        if not arguments.alliance:
            key = _encode_key(public_key(load_peer_key(home)))
            return Output(OwnKey(key), [key])
        lock = RunLock(home.alliance_lock)
        lock.acquire()
        log_to_stderr(as_json=arguments.json)
        stopped = threading.Event()
        stop_on_signal(stopped.set)
        # Only here: onnxruntime starts threads, which would receive signals unless these are blocked before.
        from coterie_agent.alliance.participant import AllianceParticipant, Stopped
        from coterie_agent.alliance.table import read_table
        from coterie_agent.blobs import BlobCache
        from coterie_learning.vertical.party import LabelsParty

        link = HttpLink(
            identity.url,
            credential=store.identity.credential(),
            record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
            ca_file=config.ca_file,
            certificate=home.certificate,
        )
        link.use_former_credential = _CredentialReloader(store, link).reload
        blobs = home.alliances / arguments.alliance
        blobs.mkdir(mode=0o700, parents=True, exist_ok=True)
        part = AllianceParticipant(
            alliance=arguments.alliance,
            secret=load_peer_key(home),
            trusted=store.identity.trusted(),
            store=store.alliances,
            blobs=BlobCache(blobs),
            link=link,
            wait=stopped.wait,
        )
        if arguments.partner or arguments.table != Path():
            table = read_table(arguments.table, identifier=arguments.identifier, label=arguments.label)
            part.agree(_decode_key(arguments.partner), table)
        try:
            party, table, classes = part.run()
        except Stopped:
            return Output(Allied(arguments.alliance, "stopped"), ["stopped; the same command goes on"])
        rows, found = party.predictions if isinstance(party, LabelsParty) else ((), ())
        if arguments.predictions != Path():
            named = [(table.identifiers[row], classes[one]) for row, one in zip(rows, found, strict=True)]
            _write(arguments.predictions, named)
        accuracy = party.standing.epochs[-1].accuracy if party.standing.epochs else None
        allied = Allied(arguments.alliance, "finished", party.common, accuracy, len(rows))
    lines = [f"finished; {allied.common} people are known to both parties"]
    if accuracy is not None:
        lines.append(f"accuracy on those held out: {accuracy:.1%}")
    if allied.predicted:
        lines.append(f"{allied.predicted} people without a label were predicted; --predictions FILE writes them")
    return Output(allied, lines)


class _CredentialReloader:
    """Reloads the credential, which a running agent may have renewed meanwhile."""

    def __init__(self, store: Store, link: HttpLink) -> None:
        self._store, self._link = store, link
        self._credential = store.identity.credential()

    def reload(self) -> bool:
        found = self._store.identity.credential()
        if found == self._credential:
            return False
        self._credential = found
        self._link.use_credential(found)
        return True


def _write(path: Path, predictions: Sequence[tuple[str, str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([("identifier", "label"), *predictions])


def _encode_key(key: bytes) -> str:
    return urlsafe_b64encode(key).decode().rstrip("=")


def _decode_key(text: str) -> bytes:
    try:
        key = urlsafe_b64decode(text + "=" * (-len(text) % 4))
    except ValueError:
        key = b""
    if len(key) != _KEY_BYTES:
        detail = f"{text!r} is no key; the other party's owner reads it from: coterie-agent ally"
        raise AgentError("alliance.bad_key", detail, exit_code=Exit.USAGE)
    return key
