"""A phone's browser, as far as the page is concerned: TLS, a cookie, no more."""

import json
import ssl
from hashlib import sha256
from http.client import HTTPSConnection


class Phone:
    """Trusts whatever certificate it is shown, and keeps its fingerprint."""

    def __init__(self, authority: str) -> None:
        self.authority = authority
        self.cookie = ""
        self.fingerprint = ""
        self.set_cookie = ""

    def ask(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, dict[str, str], bytes]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        connection = HTTPSConnection(self.authority, timeout=20, context=context)
        connection.connect()
        assert isinstance(connection.sock, ssl.SSLSocket)
        digest = sha256(connection.sock.getpeercert(binary_form=True) or b"").hexdigest().upper()
        self.fingerprint = ":".join(digest[at : at + 2] for at in range(0, len(digest), 2))
        sent = {"Cookie": self.cookie, **{name.title(): value for name, value in headers.items()}}
        connection.request(method, path, None if body is None else json.dumps(body), sent)
        answer = connection.getresponse()
        found = answer.status, dict(answer.getheaders()), answer.read()
        connection.close()
        return found

    def code(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
        status, _, content = self.ask(method, path, body, **headers)
        return status, json.loads(content).get("code", "")

    def open(self, link: str) -> int:
        """What the page does with its link."""
        status, headers, _ = self.ask("POST", "/open", {"secret": link.partition("#")[2]})
        if status == 200:
            self.set_cookie = headers["Set-Cookie"]
            self.cookie = self.set_cookie.partition(";")[0]
        return status
