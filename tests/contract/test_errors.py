"""Codes of errors are stable words: each stated once, documented, and mapped to what the caller sees."""

from collections import Counter

from coterie.core.errors import ErrorKind
from coterie.gateway.problems import STATUS, WIRE_STATUS
from coterie_wire.errors import CODES
from tests.contract.error_catalogue import agent_codes, codes_given, platform_errors, rest_codes, sdk_codes


def test_every_kind_has_a_status() -> None:
    assert set(STATUS) == set(ErrorKind)
    assert set(WIRE_STATUS) <= set(CODES)


def test_every_wire_code_raised_is_documented_and_every_documented_one_raised() -> None:
    assert set(codes_given("WireError")) == CODES.keys()


def test_no_two_errors_share_a_code() -> None:
    codes = Counter((*(error.code for error in platform_errors()), *CODES, *agent_codes(), *rest_codes(), *sdk_codes()))
    assert [code for code, times in codes.items() if times > 1] == []
