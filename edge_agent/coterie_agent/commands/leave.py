"""``coterie-agent leave``: end this device's credential; its samples stay on it."""

from datetime import date
from pathlib import Path

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.parting import confirm_parting, unanswered
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.errors import AgentError
from coterie_agent.forgetting import forget_platform
from coterie_agent.home import Home, RunLock
from coterie_agent.link.failure import Refused, Unreachable
from coterie_agent.link.http import HttpLink
from coterie_agent.plural import plural
from coterie_agent.store.opened import Store
from coterie_wire.messages import Done, Leave


class Left(msgspec.Struct, frozen=True):
    url: str
    samples: int
    """Samples that stay on the device."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``, ``agent.already_running``, ``owner.nobody_to_ask``, ``owner.declined``,
    Unreachable or Refused.

    With ``--force`` the device removes its enrolment even if the platform does not answer.
    """
    home = Home(arguments.home)
    config = load_config(home.config)
    with reading_store(arguments.home) as store, RunLock(home.lock):
        identity, samples = store.identity.get(), store.samples.count()
        url = identity.url
        confirm_parting(
            arguments,
            f"{identity.name} leaves {url}, which keeps what it has of it; to have that deleted: coterie-agent forget.",
            samples=samples,
            root=home.root,
        )
        is_ended = False
        try:
            _notify_platform(store, url, config.ca_file, home.certificate)
        except Unreachable as error:
            if not arguments.force:
                raise unanswered(error) from error
        except AgentError as error:
            is_ended = isinstance(error, Refused) and error.is_revoked
            if not arguments.force and not is_ended:
                raise
        if not is_ended:  # it may have ended as the platform forgot the device
            home.receipt.unlink(missing_ok=True)
        forget_platform(home, store)
    return Output(Left(url, samples), [f"left {url}; {plural(samples, 'sample')} kept in {home.root}"])


def _notify_platform(store: Store, url: str, ca_file: str | None, certificate: Path) -> None:
    HttpLink(
        url,
        credential=store.identity.credential(),
        record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
        ca_file=ca_file,
        certificate=certificate,
    ).call(Leave(), Done)
