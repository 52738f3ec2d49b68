"""A minimal STUN server (RFC 8489): it answers a Binding request with the sender's address, and nothing else."""

import socket
import struct

_COOKIE = 0x2112A442
_HEAD = struct.Struct("!HHI12s")
_REQUEST, _RESPONSE, _XOR_MAPPED_ADDRESS = 0x0001, 0x0101, 0x0020
_FAMILIES = {4: 0x01, 16: 0x02}


def binding_response(datagram: bytes, address: str, port: int) -> bytes | None:
    """The answer to a datagram from `address`; None: it is no Binding request."""
    if len(datagram) < _HEAD.size:
        return None
    kind, length, cookie, transaction = _HEAD.unpack_from(datagram)
    if kind != _REQUEST or cookie != _COOKIE or length != len(datagram) - _HEAD.size:
        return None
    host = _packed(address)
    mask = _COOKIE.to_bytes(4, "big") + transaction
    hidden = bytes(byte ^ over for byte, over in zip(host, mask, strict=False))
    value = struct.pack("!BBH", 0, _FAMILIES[len(host)], port ^ (_COOKIE >> 16)) + hidden
    attribute = struct.pack("!HH", _XOR_MAPPED_ADDRESS, len(value)) + value
    return _HEAD.pack(_RESPONSE, len(attribute), cookie, transaction) + attribute


def answer_stun(host: str, port: int) -> None:
    """Answer requests on this address until the process is stopped. Raises OSError."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as server:
        server.bind((host, port))
        while True:
            datagram, (address, sent_from, *_) = server.recvfrom(2048)
            answer = binding_response(datagram, address, sent_from)
            if answer is not None:
                server.sendto(answer, (address, sent_from))


def _packed(address: str) -> bytes:
    address = address.partition("%")[0]
    return socket.inet_pton(socket.AF_INET6 if ":" in address else socket.AF_INET, address)
