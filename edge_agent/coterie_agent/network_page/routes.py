"""The routes of the page on the network: those of the owner's page, none of those for programs."""

from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus

import msgspec

from coterie_agent.label_api import LabelApi, LabelView
from coterie_agent.link.http import RecordSent
from coterie_agent.owner_api import OwnerApi
from coterie_agent.site import RequestError, Route

SHOWN = "sample shown on a phone"
"""Its name in the journal."""


def network_routes(
    owner: OwnerApi, labels: LabelApi, *, show_samples: bool, record_sent: RecordSent
) -> Mapping[str, Route]:
    """The routes by method and path; without `show_samples`, those that show samples refuse."""
    asking = labels.page_routes()
    shown = ShownSamples(record_sent)
    question_routes = {path: shown.counting(route) if show_samples else _refuse for path, route in asking.items()}
    return {**owner.routes(), **question_routes}


@dataclass
class ShownSamples:
    """Counts each sample as sent when it is first shown, and not at each refresh of the page."""

    record_sent: RecordSent
    _latest: int | None = None

    def counting(self, route: Route) -> Route:
        """The same route, with counting."""

        def counted(body: bytes) -> msgspec.Struct | msgspec.Raw:
            answer = route(body)
            question = answer.question if isinstance(answer, LabelView) else None
            if question is not None and question.id != self._latest:
                self.record_sent(SHOWN, len(msgspec.json.encode(question)))
                self._latest = question.id
            return answer

        return counted


def _refuse(_: bytes) -> msgspec.Struct:
    """A route that raises RequestError ``page.keeps_samples``."""
    detail = "samples are shown on the device alone (agent.toml, [page], show_samples)"
    raise RequestError(HTTPStatus.FORBIDDEN, "page.keeps_samples", detail)
