"""A device that holds passkeys: what browser and authenticator answer, written as WebAuthn says and signed by ES256."""

import hashlib
import json
import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from typing import Any

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256

PRESENT, VERIFIED, NEW_KEY = 1, 4, 64
"""Flags of the authenticator data (section 6.1)."""
Options = Mapping[str, Any]


def text(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


def content(text: str) -> bytes:
    return urlsafe_b64decode(text + "===")


class PasskeyDevice:
    """One key pair; it says what it is told to, as a broken or stolen one might."""

    def __init__(self, origin: str = "https://fleet.example", *, counts: bool = True, verifies: bool = True) -> None:
        self.origin, self.counts, self.verifies = origin, counts, verifies
        self.key = ec.generate_private_key(ec.SECP256R1())
        numbers = self.key.public_key().public_numbers()
        self.cose: object = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        self.id = b"credential of a device"
        self.signatures = 0
        self.handle = b""

    def make(self, options: Options) -> dict[str, Any]:
        """Answer `PublicKeyCredentialCreationOptions`."""
        self.handle = content(options["user"]["id"])
        made = bytes(16) + struct.pack(">H", len(self.id)) + self.id + cbor2.dumps(self.cose)
        data = self._data(options["rp"]["id"], NEW_KEY) + made
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client("webauthn.create", options)
        return self._answer({"clientDataJSON": text(client), "attestationObject": text(attestation)})

    def sign(self, options: Options, **changed: object) -> dict[str, Any]:
        """Answer `PublicKeyCredentialRequestOptions`; `changed` is what the browser says otherwise."""
        self.signatures += self.counts
        data, client = self._data(options["rpId"]), self._client("webauthn.get", options, **changed)
        signature = self.key.sign(data + hashlib.sha256(client).digest(), ec.ECDSA(SHA256()))
        return self._answer(
            {
                "clientDataJSON": text(client),
                "authenticatorData": text(data),
                "signature": text(signature),
                "userHandle": text(self.handle),
            }
        )

    def _data(self, party: str, flags: int = 0) -> bytes:
        flags |= PRESENT | (VERIFIED if self.verifies else 0)
        return hashlib.sha256(party.encode()).digest() + struct.pack(">BI", flags, self.signatures)

    def _client(self, kind: str, options: Options, **changed: object) -> bytes:
        said = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return json.dumps({**said, **changed}).encode()

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        return {"id": text(self.id), "rawId": text(self.id), "type": "public-key", "response": response}
