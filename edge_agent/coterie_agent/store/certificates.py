"""The certificate that this device shows, and its keys, in files that only the owner can read."""

import os

from nacl.signing import SigningKey

from coterie_agent.certificate_request import key_and_certificates, key_in
from coterie_agent.home import Home, write_private

_SEED_BYTES = 32


class CertificateFiles:
    """The certificate files of one home. Methods raise OSError."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def draw_key(self) -> SigningKey:
        """A new key, which is on the disk when this returns; the one drawn before, if no certificate of it was stored
        yet."""
        path = self._home.next_certificate_key
        seed = path.read_bytes() if path.exists() else b""
        if len(seed) != _SEED_BYTES:
            seed = os.urandom(_SEED_BYTES)
            write_private(path, seed)
        return SigningKey(seed)

    def former_keys(self) -> list[SigningKey]:
        """The keys of the current certificate and the one before, which a platform restored from a backup may still
        know; files that cannot be read are skipped."""
        found = []
        for path in (self._home.certificate, self._home.former_certificate):
            try:
                found.append(key_in(path.read_bytes()))
            except (FileNotFoundError, ValueError):
                continue
        return found

    def use(self, key: SigningKey, chain: tuple[bytes, ...]) -> None:
        """Use this certificate, of the key that was drawn, for connections from now on."""
        if self._home.certificate.exists():
            write_private(self._home.former_certificate, self._home.certificate.read_bytes())
        write_private(self._home.certificate, key_and_certificates(key, chain))
        self._home.next_certificate_key.unlink(missing_ok=True)

    def delete(self) -> None:
        """Delete all certificates and keys, when the device leaves the platform."""
        for path in (self._home.certificate, self._home.former_certificate, self._home.next_certificate_key):
            path.unlink(missing_ok=True)
