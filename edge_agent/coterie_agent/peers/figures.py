"""Reports figures of the personal model to the platform, for people to read; nothing is decided by them."""

import logging

from coterie_agent.config import Config
from coterie_agent.link.failure import Refused, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_agent.sharing import share_personal
from coterie_agent.store.opened import Store
from coterie_agent.store.peers import Tuned
from coterie_wire.helping import StandingPlan
from coterie_wire.messages import Done
from coterie_wire.personal import ReportPersonal

log = logging.getLogger(__name__)


def figures_under(standing: StandingPlan, store: Store) -> Tuned | None:
    """The result of the personal model's latest training under this plan; None: there was none."""
    tuned = store.peers.tuned()
    return tuned if tuned is not None and tuned.digest == standing.digest else None


def report_figures(standing: StandingPlan, config: Config, store: Store, link: HttpLink) -> bool:
    """Report the figures to the platform in the detail that the owner allows; whether anything was sent.

    Nothing is reported while the device works for a plan that hides in a sum what devices measure.
    """
    tuned = figures_under(standing, store)
    if tuned is None or tuned.reported:
        return False
    report = ReportPersonal(
        federation=standing.federation,
        version=tuned.compared_with,
        answers=tuned.answers,
        samples=tuned.samples,
        version_accuracy=tuned.version_accuracy,
        own_accuracy=tuned.own_accuracy,
    )
    shared = None if store.work.is_masked() else share_personal(report, config.peers.tell)
    if shared is not None:
        try:
            link.call(shared, Done)
        except Refused as refusal:
            if refusal.is_revoked or is_retryable(refusal):
                raise
            log.warning("the platform takes no figures of a personal model: %s", refusal.detail)
    store.peers.mark_reported(tuned)
    return shared is not None
