"""What strangers and bad clients send: seventy kinds and more, as bytes for one connection."""

import base64
import io
import json
import os
import zipfile
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from coterie_wire.version import PROTOCOL


class Context(NamedTuple):
    """What the worse of them have got hold of."""

    credential: str
    """Of a device that has joined, and means ill."""
    token: str
    """Of an operator."""


Make = Callable[[Random, Context], bytes]
KINDS: dict[str, Make] = {}


def kind(make: Make) -> Make:
    """Register what a function makes under its name in words."""
    KINDS[make.__name__.replace("_", " ")] = make
    return make


def request(method: str, path: str, *headers: str, body: bytes = b"", length: int | None = None) -> bytes:
    """An HTTP request that is right as far as it goes."""
    size = len(body) if length is None else length
    lines = [f"{method} {path} HTTP/1.1", "Host: localhost:1", *headers]
    if size or method in ("POST", "PATCH"):
        lines.append(f"Content-Length: {size}")
    return "\r\n".join([*lines, "", ""]).encode("latin-1") + body


def bearer(secret: str) -> str:
    return f"Authorization: Bearer {secret}"


def guess(rng: Random, prefix: str) -> str:
    return f"{prefix}_{base64.urlsafe_b64encode(rng.randbytes(32)).decode().rstrip('=')}"


def check_in(rng: Random, **changes: object) -> bytes:
    return json.dumps({"protocol": PROTOCOL, "conditions": {}, **changes}).encode()


def message(context: Context, body: bytes, name: str = "check-in") -> bytes:
    return request("POST", f"/device/v1/{name}", bearer(context.credential), body=body)


# What is no request


@kind
def random_bytes(rng: Random, context: Context) -> bytes:
    return rng.randbytes(rng.randrange(1, 2000)) + b"\r\n\r\n"


@kind
def a_TLS_greeting(rng: Random, context: Context) -> bytes:  # noqa: N802
    return b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + rng.randbytes(500)


@kind
def another_version(rng: Random, context: Context) -> bytes:
    return b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n"


@kind
def the_preface_of_HTTP_2(rng: Random, context: Context) -> bytes:  # noqa: N802
    return b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + rng.randbytes(64)


@kind
def an_unknown_method(rng: Random, context: Context) -> bytes:
    return request("BREW", "/healthz")


@kind
def a_long_address(rng: Random, context: Context) -> bytes:
    return request("GET", "/" + "a" * 20_000)


@kind
def an_address_of_other_bytes(rng: Random, context: Context) -> bytes:
    return b"GET /" + bytes(rng.randrange(128, 256) for _ in range(20)) + b" HTTP/1.1\r\nHost: localhost\r\n\r\n"


@kind
def a_long_header(rng: Random, context: Context) -> bytes:
    return request("GET", "/healthz", "X: " + "a" * 300_000)


@kind
def many_headers(rng: Random, context: Context) -> bytes:
    return request("GET", "/healthz", *(f"X-{number}: y" for number in range(1000)))


@kind
def half_a_head(rng: Random, context: Context) -> bytes:
    return b"GET /healthz HTTP/1.1\r\nHost: local"


@kind
def zero_bytes_in_headers(rng: Random, context: Context) -> bytes:
    return b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX\x00: \x00\r\n\r\n"


@kind
def a_negative_length(rng: Random, context: Context) -> bytes:
    return b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\nhello"


@kind
def two_lengths(rng: Random, context: Context) -> bytes:
    return b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd"


@kind
def a_length_and_chunks(rng: Random, context: Context) -> bytes:
    smuggled = b"GET /api/devices/ HTTP/1.1\r\nHost: localhost\r\n\r\n"
    head = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"0\r\n\r\n" + smuggled


@kind
def a_bad_chunk(rng: Random, context: Context) -> bytes:
    return b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nabc\r\n"


@kind
def long_trailers(rng: Random, context: Context) -> bytes:
    head = b"POST /sign-in/ HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
    return head + b"0\r\nX: " + b"a" * 300_000


@kind
def half_a_body(rng: Random, context: Context) -> bytes:
    return request("POST", "/sign-in/", body=b"username=a", length=1000)


@kind
def pipelined_requests(rng: Random, context: Context) -> bytes:
    return request("GET", "/healthz") * 10


@kind
def a_flood_of_pipelined_requests(rng: Random, context: Context) -> bytes:
    return request("GET", "/healthz") * 2000


# What is a request, and no good


@kind
def a_path_out_of_the_files(rng: Random, context: Context) -> bytes:
    return request("GET", "/static/..%2f..%2f..%2fsecret-key")


@kind
def an_encoded_zero_byte(rng: Random, context: Context) -> bytes:
    return request("GET", "/api/devices/%00%ff/", bearer(context.token))


@kind
def a_foreign_host(rng: Random, context: Context) -> bytes:
    return b"GET /sign-in/ HTTP/1.1\r\nHost: elsewhere.example\r\n\r\n"


@kind
def a_strangers_large_body(rng: Random, context: Context) -> bytes:
    return request("POST", "/sign-in/", body=b"a" * 300_000)


@kind
def a_wrong_password(rng: Random, context: Context) -> bytes:
    basic = base64.b64encode(f"operator:{rng.random()}".encode()).decode()
    return request("GET", "/api/tokens/", f"Authorization: Basic {basic}")


@kind
def a_guessed_token(rng: Random, context: Context) -> bytes:
    return request("GET", "/api/devices/", bearer(guess(rng, "cot")))


@kind
def a_guessed_session(rng: Random, context: Context) -> bytes:
    return request("GET", "/api/devices/", f"Cookie: sessionid={guess(rng, 's')}; =; a")


@kind
def a_guessed_sign_in_link(rng: Random, context: Context) -> bytes:
    return request("POST", f"/sign-in/MQ.{guess(rng, 'c')}/")


@kind
def a_form_without_its_proof(rng: Random, context: Context) -> bytes:
    return request(
        "POST", "/sign-in/", "Content-Type: application/x-www-form-urlencoded", body=b"username=a&password=b"
    )


@kind
def an_unknown_address(rng: Random, context: Context) -> bytes:
    return request("GET", f"/api/{rng.random()}/")


@kind
def deep_JSON(rng: Random, context: Context) -> bytes:  # noqa: N802
    return request(
        "POST", "/api/federations/", bearer(context.token), "Content-Type: application/json", body=b"[" * 50_000
    )


@kind
def rubbish_filters(rng: Random, context: Context) -> bytes:
    return request("GET", "/api/devices/?page=-1&sort=__proto__&search=%00&tag=%ff", bearer(context.token))


@kind
def a_table_that_nobody_reads(rng: Random, context: Context) -> bytes:
    return request("GET", "/api/audit/?format=csv", bearer(context.token))


# Uploads


def form(context: Context, path: str, **files: bytes) -> bytes:
    parts = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%s"; filename="f"\r\n\r\n' % name.encode() + content + b"\r\n"
        for name, content in files.items()
    )
    name = b'--b\r\nContent-Disposition: form-data; name="name"\r\n\r\nhostile\r\n'
    body = name + parts + b"--b--\r\n"
    return request("POST", path, bearer(context.token), "Content-Type: multipart/form-data; boundary=b", body=body)


@kind
def a_data_set_of_rubbish(rng: Random, context: Context) -> bytes:
    return form(context, "/api/datasets/", file=rng.randbytes(1000))


@kind
def a_data_set_that_unpacks_to_much(rng: Random, context: Context) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", b"\x93NUMPY\x01\x00" + b"\0" * 3_000_000)
    return form(context, "/api/datasets/", file=packed.getvalue())


@kind
def a_program_of_rubbish(rng: Random, context: Context) -> bytes:
    return form(context, "/api/pairs/", device=rng.randbytes(500), cloud=b"")


@kind
def a_form_without_an_end(rng: Random, context: Context) -> bytes:
    kind_ = "Content-Type: multipart/form-data; boundary=b"
    return request("POST", "/api/datasets/", bearer(context.token), kind_, body=b"--b\r\n" * 50)


# Devices


@kind
def a_message_of_nobody(rng: Random, context: Context) -> bytes:
    return request("POST", "/device/v1/check-in", body=check_in(rng))


@kind
def a_guessed_credential(rng: Random, context: Context) -> bytes:
    return request("POST", "/device/v1/check-in", bearer(guess(rng, "cod")), body=check_in(rng))


@kind
def an_enrolment_with_a_guessed_token(rng: Random, context: Context) -> bytes:
    capabilities = {"cores": 1, "memory_bytes": 1, "machine": "m", "agent": "a"}
    body = {"protocol": PROTOCOL, "token": guess(rng, "coe"), "name": "x", "capabilities": capabilities}
    return request("POST", "/device/v1/enrol", body=json.dumps(body).encode())


@kind
def a_message_of_rubbish(rng: Random, context: Context) -> bytes:
    return message(context, rng.randbytes(200))


@kind
def a_message_too_deep(rng: Random, context: Context) -> bytes:
    return message(context, b"[" * 100_000)


@kind
def a_message_too_long(rng: Random, context: Context) -> bytes:
    return message(context, b"a" * ((1 << 20) + 1))


@kind
def numbers_out_of_range(rng: Random, context: Context) -> bytes:
    return message(context, b'{"protocol": 1, "conditions": {"temperature_c": 1e999}, "metadata": {"samples": 1e308}}')


@kind
def an_unknown_message(rng: Random, context: Context) -> bytes:
    return message(context, check_in(rng), "obey")


@kind
def an_update_nobody_asked_for(rng: Random, context: Context) -> bytes:
    path = f"/device/v1/uploads/{os.urandom(16).hex()}"
    return request("PATCH", path, bearer(context.credential), "Upload-Offset: 0", body=rng.randbytes(5000))


@kind
def an_update_without_an_offset(rng: Random, context: Context) -> bytes:
    return request("PATCH", "/device/v1/uploads/x", bearer(context.credential), body=rng.randbytes(50))


@kind
def a_blob_that_is_a_path(rng: Random, context: Context) -> bytes:
    return request("GET", "/device/v1/blobs/..%2f..%2fsecret-key", bearer(context.credential), "Range: bytes=9-1")


# Sockets


def handshake(*headers: str, path: str = "/device/v1/socket", version: int = 13) -> bytes:
    key = base64.b64encode(os.urandom(16)).decode()
    upgrade = ("Connection: Upgrade", "Upgrade: websocket")
    return request("GET", path, *upgrade, f"Sec-WebSocket-Version: {version}", f"Sec-WebSocket-Key: {key}", *headers)


@kind
def a_socket_of_nobody(rng: Random, context: Context) -> bytes:
    return handshake()


@kind
def a_socket_of_another_version(rng: Random, context: Context) -> bytes:
    return handshake(bearer(context.credential), version=7)


@kind
def a_console_from_a_foreign_page(rng: Random, context: Context) -> bytes:
    return handshake("Origin: https://elsewhere.example", path="/console/v1/socket")


@kind
def frames_of_rubbish(rng: Random, context: Context) -> bytes:
    return handshake(bearer(context.credential)) + rng.randbytes(500)


@kind
def a_frame_that_says_nothing(rng: Random, context: Context) -> bytes:
    return handshake(bearer(context.credential)) + b"\x81\x82\0\0\0\0{{"


@kind
def a_frame_of_a_terabyte(rng: Random, context: Context) -> bytes:
    return handshake(bearer(context.credential)) + b"\x82\xff" + (1 << 40).to_bytes(8, "big") + b"\0\0\0\0"


@kind
def a_flood_of_pings(rng: Random, context: Context) -> bytes:
    return handshake(bearer(context.credential)) + b"\x89\x80\0\0\0\0" * 5000


# Secure sums


def encoded(rng: Random, size: int) -> str:
    return base64.b64encode(rng.randbytes(size)).decode()


def summed(context: Context, name: str, **fields: object) -> bytes:
    return message(context, json.dumps({"assignment": os.urandom(16).hex(), **fields}).encode(), name)


@kind
def a_secure_sum_of_nobody(rng: Random, context: Context) -> bytes:
    return summed(context, "ask-sum")


@kind
def session_keys_of_rubbish(rng: Random, context: Context) -> bytes:
    return summed(context, "join-sum", member=["x", *(encoded(rng, 32) for _ in range(4)), encoded(rng, 64)])


@kind
def thousands_of_boxes(rng: Random, context: Context) -> bytes:
    box = [0, 1, encoded(rng, 82)]
    return summed(context, "share-secrets", boxes=[box] * 2500)


@kind
def boxes_from_places_that_are_none(rng: Random, context: Context) -> bytes:
    return summed(context, "share-secrets", boxes=[[-1, 1 << 60, encoded(rng, 82)]])


@kind
def shares_of_another_length(rng: Random, context: Context) -> bytes:
    return summed(context, "reveal-shares", shares=[[0, "own_mask", encoded(rng, 4000)]])


@kind
def a_masked_vector_of_terabytes(rng: Random, context: Context) -> bytes:
    return summed(context, "offer-masked", sha256="0" * 64, size_bytes=1 << 50)


@kind
def a_new_identity_each_time(rng: Random, context: Context) -> bytes:
    body = {"identity": encoded(rng, 32), "known": rng.choice((0, 1 << 50))}
    return message(context, json.dumps(body).encode(), "read-log")


# The phone's page, and what it asks before it has a credential


@kind
def an_invitation_with_a_guessed_token(rng: Random, context: Context) -> bytes:
    return request("POST", "/device/v1/read-invitation", body=json.dumps({"token": guess(rng, "coe")}).encode())


@kind
def an_invitation_of_rubbish(rng: Random, context: Context) -> bytes:
    return request("POST", "/device/v1/read-invitation", body=b'{"token": ' + b"[" * 50_000)


@kind
def a_name_that_rings_the_bell(rng: Random, context: Context) -> bytes:
    capabilities = {"cores": 1, "memory_bytes": 1, "machine": "m\x1b[2J", "agent": "a\n"}
    body = {"protocol": PROTOCOL, "token": guess(rng, "coe"), "name": "x\n\x07\x1b]0;y", "capabilities": capabilities}
    return request("POST", "/device/v1/enrol", body=json.dumps(body).encode())


@kind
def a_path_out_of_the_phones_page(rng: Random, context: Context) -> bytes:
    return request("GET", "/phone/..%2f..%2f..%2fsecret-key")


@kind
def a_write_to_the_phones_page(rng: Random, context: Context) -> bytes:
    return request("POST", "/phone/", body=b"a" * 60_000)


@kind
def ranges_of_the_phones_worker(rng: Random, context: Context) -> bytes:
    return request("GET", "/phone/sw.js", "Range: bytes=" + ",".join(f"{n}-{n}" for n in range(1000)))


@kind
def a_foreign_page_that_asks_for_a_device(rng: Random, context: Context) -> bytes:
    asks = ("Origin: https://elsewhere.example", "Access-Control-Request-Method: POST")
    return request("OPTIONS", "/device/v1/check-in", *asks)


@kind
def a_phone_of_a_foreign_page(rng: Random, context: Context) -> bytes:
    origin = "Origin: https://elsewhere.example"
    return request("POST", "/device/v1/check-in", bearer(context.credential), origin, body=check_in(rng))
