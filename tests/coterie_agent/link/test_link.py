"""Back-off, and what can be tried again."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coterie_agent.errors import AgentError, Exit
from coterie_agent.link.backoff import Backoff
from coterie_agent.link.conversation import Broken, Conversation
from coterie_agent.link.failure import Refused, Unreachable, is_retryable
from coterie_agent.link.http import HttpLink
from coterie_wire.conditions import Conditions
from coterie_wire.messages import CheckIn, Directive, Problem, Wake
from coterie_wire.version import PROTOCOL
from tests.coterie_agent.fake_platform import CREDENTIAL, Denied, FakePlatform


def refused(status: int, code: str = "rounds.assignment_closed") -> Refused:
    return Refused(Problem(code=code, title="", status=status, detail="no"))


@given(failures=st.integers(0, 5000), seed=st.integers(), longest_s=st.floats(0.1, 1000))
def test_delays_stay_below_a_limit_that_doubles(failures: int, seed: int, longest_s: float) -> None:
    delay = Backoff(failures).delay_s(longest_s=longest_s, rng=random.Random(seed))
    limit = 0.0 if failures == 0 else min(longest_s, 0.5 * 2.0 ** min(failures - 1, 1000))
    assert 0 <= delay <= limit


@pytest.mark.parametrize(
    ("error", "retryable"),
    [
        (Unreachable("gone"), True),
        (refused(503), True),
        (refused(429), True),
        (refused(409), False),
        (refused(401), False),
        (AgentError("bundle.wrong_hash", ""), True),
        (AgentError("bundle.no_space", ""), False),
    ],
)
def test_what_can_be_tried_again(error: AgentError, retryable: bool) -> None:
    assert is_retryable(error) is retryable


def test_only_the_platform_can_revoke() -> None:
    assert refused(401, "fleet.credential_unknown").exit_code is Exit.REVOKED
    assert refused(403, "fleet.revoked").is_revoked
    assert not refused(401, "fleet.token_unknown").is_revoked
    assert not refused(401).is_revoked


def test_a_conversation_numbers_its_requests_and_never_raises() -> None:
    conversation = Conversation()
    assert [conversation.request("check-in", b"{}")[0] for _ in range(2)] == [1, 2]
    assert conversation.receive('{"frame":"wake"}') == Wake()


@given(st.text() | st.binary())
def test_whatever_arrives_is_an_event(text: str | bytes) -> None:
    event = Conversation().receive(text)
    assert isinstance(event, Broken | Wake)


CHECK_IN = CheckIn(protocol=PROTOCOL, conditions=Conditions())


def link(url: str, credential: str = CREDENTIAL) -> HttpLink:
    return HttpLink(url, credential=credential, record_sent=lambda what, size: None)


def test_a_refusal_carries_the_platforms_words(platform: FakePlatform) -> None:
    with pytest.raises(Refused, match="the credential has ended") as caught:
        link(platform.url, "wrong").call(CHECK_IN, Directive)
    assert caught.value.is_revoked


def test_a_portals_error_page_is_no_answer(platform: FakePlatform) -> None:
    platform.sockets_allowed = False  # GET of its address answers 404 in HTML
    with pytest.raises(Unreachable, match="not the platform"):
        next(link(platform.url).download("../socket", 0))


def test_nobody_there() -> None:
    with pytest.raises(Unreachable, match="Connection refused"):
        link("http://127.0.0.1:1").call(CHECK_IN, Directive)


def test_a_busy_platform_can_be_asked_again(platform: FakePlatform) -> None:
    def busy(path: str) -> None:
        platform.fault = None
        raise Denied(503, "gateway.busy")

    platform.fault = busy
    with pytest.raises(Refused) as caught:
        link(platform.url).call(CHECK_IN, Directive)
    assert is_retryable(caught.value)
    assert link(platform.url).call(CHECK_IN, Directive).check_in_s == platform.check_in_s


def test_a_credential_that_was_replaced_meanwhile_is_not_the_devices_end(platform: FakePlatform) -> None:
    changing = link(platform.url, "wrong")
    platform.fault = lambda _path: changing.use_credential(CREDENTIAL)
    with pytest.raises(Unreachable, match="replaced"):
        changing.call(CHECK_IN, Directive)
    platform.fault = None
    assert changing.call(CHECK_IN, Directive).check_in_s > 0


def test_one_that_the_platform_does_not_know_is_the_end_where_no_other_is_left(platform: FakePlatform) -> None:
    def unknown(_path: str) -> None:
        raise Denied(401, "fleet.credential_unknown", "no device has it")

    platform.fault, asked = unknown, []
    stranger = link(platform.url)
    stranger.use_former_credential = lambda: not asked.append(1) and len(asked) == 1
    with pytest.raises(Unreachable, match="replaced"):
        stranger.call(CHECK_IN, Directive)
    with pytest.raises(Refused) as caught:
        stranger.call(CHECK_IN, Directive)
    assert caught.value.is_revoked
