"""What programs on a device send to its agent's local API: those that know the token, and those that do not."""

import json
from collections.abc import Callable
from random import Random

from tests.benchmarks.hostile.kinds import Context, Make, bearer, guess, request

LOCAL_KINDS: dict[str, Make] = {}


def local(make: Make) -> Make:
    """Register what a function makes under its name in words."""
    LOCAL_KINDS[f"local: {make.__name__.replace('_', ' ')}"] = make
    return make


def asked(context: Context, path: str, body: bytes = b"", **more: int) -> bytes:
    return request("POST", path, bearer(context.token), body=body, **more)


def samples(rng: Random, values: Callable[[Random], object]) -> bytes:
    return json.dumps({"samples": [{"x": values(rng), "y": 0}]}).encode()


@local
def random_bytes(rng: Random, context: Context) -> bytes:
    return rng.randbytes(rng.randrange(1, 2000)) + b"\r\n\r\n"


@local
def an_unknown_method(rng: Random, context: Context) -> bytes:
    return request("BREW", "/status", bearer(context.token))


@local
def another_version(rng: Random, context: Context) -> bytes:
    return b"GET /status HTTP/9.9\r\nHost: localhost\r\n\r\n"


@local
def a_long_address(rng: Random, context: Context) -> bytes:
    return request("GET", "/" + "a" * 100_000)


@local
def many_headers(rng: Random, context: Context) -> bytes:
    return request("GET", "/status", *(f"X-{number}: 1" for number in range(2000)))


@local
def a_guessed_token(rng: Random, context: Context) -> bytes:
    return request("GET", "/status", bearer(guess(rng, "x")))


@local
def a_token_of_other_letters(rng: Random, context: Context) -> bytes:
    return request("GET", "/status", "Authorization: Bearer \xfc\xdf\xe9")


@local
def a_page_whose_name_was_rebound(rng: Random, context: Context) -> bytes:
    return request("GET", "/status", bearer(context.token)).replace(b"Host: localhost:1", b"Host: evil.example:80")


@local
def a_length_of_thousands_of_digits(rng: Random, context: Context) -> bytes:
    return request("POST", "/samples", bearer(context.token), f"Content-Length: {'9' * 5000}")


@local
def a_body_of_gigabytes_announced(rng: Random, context: Context) -> bytes:
    return asked(context, "/samples", b"{", length=4 << 30)


@local
def a_body_that_never_comes(rng: Random, context: Context) -> bytes:
    return asked(context, "/samples", b"{", length=1 << 20)


@local
def half_a_request(rng: Random, context: Context) -> bytes:
    return b"POST /samples HT"


@local
def JSON_without_an_end(rng: Random, context: Context) -> bytes:  # noqa: N802
    return asked(context, "/samples", b"[" * 200_000)


@local
def no_UTF_8(rng: Random, context: Context) -> bytes:  # noqa: N802
    return asked(context, "/predict", b'{"samples": [{"x": ["' + rng.randbytes(50) + b'"]}]}')


@local
def samples_of_another_width(rng: Random, context: Context) -> bytes:
    return asked(context, "/samples", samples(rng, lambda rng: [0.5] * rng.randrange(2000)))


@local
def numbers_beyond_float32(rng: Random, context: Context) -> bytes:
    return asked(context, "/samples", samples(rng, lambda _: [1e300] * 1024))


@local
def numbers_that_are_none(rng: Random, context: Context) -> bytes:
    return asked(context, "/predict", b'{"samples": [{"x": [NaN, Infinity]}]}')


@local
def lists_in_lists(rng: Random, context: Context) -> bytes:
    return asked(context, "/predict", samples(rng, lambda _: [[[[0]]]] * 100))


@local
def unknown_fields(rng: Random, context: Context) -> bytes:
    return asked(context, "/samples", b'{"samples": [], "rows": 7}')


@local
def an_unknown_path(rng: Random, context: Context) -> bytes:
    return asked(context, "/../../state/credential")
