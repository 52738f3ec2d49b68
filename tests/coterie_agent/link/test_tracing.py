"""The header that the owner may turn on: nothing of the device is in it."""

from coterie.core.tracing import TRACEPARENT
from coterie_agent.link.http import HttpLink
from coterie_agent.link.tracing import trace_header
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, Directive
from coterie_wire.version import PROTOCOL
from tests.coterie_agent.fake_platform import CREDENTIAL, FakePlatform


def test_requests_of_an_assignment_are_one_trace_and_others_are_each_their_own() -> None:
    topic = ""
    header, other = trace_header(lambda: topic), trace_header(lambda: topic)
    first, second = header(), header()
    topic = "a-1"
    third, fourth = header(), header()
    assert all(TRACEPARENT.fullmatch(one) for one in (first, second, third, fourth))
    assert len({one[:35] for one in (first, second, third)}) == 3
    assert third[:35] == fourth[:35]
    assert len({first, second, third, fourth}) == 4
    assert other()[:35] != third[:35], "no two processes draw the same"


def test_it_is_sent_only_where_it_is_turned_on(platform: FakePlatform) -> None:
    check_in, sent = CheckIn(protocol=PROTOCOL, conditions=Conditions()), []
    for trace in (None, trace_header(lambda: "")):
        link = HttpLink(platform.url, credential=CREDENTIAL, record_sent=lambda *_: None, trace=trace)
        link.call(check_in, Directive)
        sent.append(platform.headers[-1].get("traceparent"))
    assert sent[0] is None
    assert sent[1] is not None and TRACEPARENT.fullmatch(sent[1])
