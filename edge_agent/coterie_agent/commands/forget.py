"""``coterie-agent forget``: leave, and have the platform forget the device; run again, it reports the progress."""

from datetime import date

import msgspec

from coterie_agent.commands import Arguments, Output
from coterie_agent.commands.parting import confirm_parting, unanswered
from coterie_agent.commands.reading import reading_store
from coterie_agent.config import load_config
from coterie_agent.forgetting import Forgetter, news_lines
from coterie_agent.home import Home, RunLock
from coterie_agent.link.failure import Unreachable
from coterie_agent.plural import plural
from coterie_wire.owning import ForgetNews


class Forgotten(msgspec.Struct, frozen=True):
    """The state of the request to be forgotten."""

    receipt: ForgetNews | None
    """The platform's receipt; None: it was not reached, and ``--force`` removed the local data."""
    samples: int
    """Samples that stay on the device, which the platform never had."""


def run(arguments: Arguments) -> Output:
    """Raises AgentError ``agent.not_joined``, ``agent.not_forgotten``, ``agent.already_running``,
    ``agent.credential_ended``, ``owner.nobody_to_ask``, ``owner.declined``, Unreachable or Refused.
    """
    home = Home(arguments.home)
    config = load_config(home.config)
    with reading_store(arguments.home) as store, RunLock(home.lock):
        forgetter = Forgetter(
            home=home,
            store=store,
            ca_file=config.ca_file,
            record_sent=lambda what, size: store.journal.record_sent(what, size, day=date.today().isoformat()),
        )
        samples, identity = store.samples.count(), store.identity.find()
        if identity is not None and not forgetter.was_asked():
            confirm_parting(
                arguments,
                f"{identity.name} leaves {identity.url}, which deletes what it keeps of the device. Versions that have "
                "learned from it stay, unless its federation's plan promises models without it.",
                samples=samples,
                root=home.root,
            )
        try:
            news = forgetter.forget(force=arguments.force)
        except Unreachable as error:
            if identity is None:
                raise
            raise unanswered(error) from error
    lines = ["the platform was not asked; what is here of it is removed"] if news is None else news_lines(news)
    kept = f"{plural(samples, 'sample')} kept in {home.root}; remove that folder to remove samples, too"
    return Output(Forgotten(news, samples), [*lines, kept])
