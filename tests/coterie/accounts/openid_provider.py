"""An OpenID Connect provider on loopback, as small as the code flow allows, that can be told to misbehave."""

import base64
import hashlib
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlencode, urlsplit

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

CLIENT, SECRET = "coterie", "of the client"
KEY, STRANGERS_KEY = (rsa.generate_private_key(public_exponent=65537, key_size=2048) for _ in range(2))
ADA = {"sub": "ada-1", "preferred_username": "ada", "email": "ada@example.org", "email_verified": True}


class OpenIdProvider:
    """One person is signed in there; every answer is made anew."""

    def __init__(self) -> None:
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        self.issuer = f"http://127.0.0.1:{self._server.server_port}"
        self.reset()
        threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()

    def reset(self) -> None:
        """Behave."""
        self.person: dict[str, object] = {**ADA, "groups": ["staff"]}
        self.token: dict[str, object] = {}
        """Claims of the token that are wrong."""
        self.user_info: dict[str, object] = {}
        self.key = KEY
        self.down: set[str] = set()
        """Paths that answer 500."""
        self.codes: dict[str, dict[str, str]] = {}

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def authorize(self, asked: dict[str, str]) -> str:
        """Where the browser is sent back to."""
        assert (asked["client_id"], asked["response_type"], asked["code_challenge_method"]) == (CLIENT, "code", "S256")
        assert "openid" in asked["scope"].split()
        code = f"code-{len(self.codes)}"
        self.codes[code] = asked
        return f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"

    def _exchange(self, form: dict[str, str]) -> dict[str, object] | None:
        asked = self.codes.pop(form["code"], None)
        verifier = hashlib.sha256(form.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(verifier).rstrip(b"=").decode()
        if asked is None or form["client_secret"] != SECRET or challenge != asked["code_challenge"]:
            return None
        now = int(time.time())
        claims = {
            "iss": self.issuer,
            "aud": CLIENT,
            "sub": self.person["sub"],
            "nonce": asked["nonce"],
            "iat": now,
            "exp": now + 60,
            **self.token,
        }
        token = jwt.encode(claims, self.key, "RS256", headers={"kid": "k1"})
        return {"access_token": "access", "token_type": "Bearer", "id_token": token}

    def _answer(self, path: str, form: dict[str, str]) -> object:
        match path:
            case "/.well-known/openid-configuration":
                return {
                    "issuer": self.issuer,
                    "authorization_endpoint": f"{self.issuer}/authorize",
                    "token_endpoint": f"{self.issuer}/token",
                    "userinfo_endpoint": f"{self.issuer}/me",
                    "jwks_uri": f"{self.issuer}/keys",
                }
            case "/keys":
                public = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(KEY.public_key()))
                return {"keys": [{**public, "kid": "k1", "alg": "RS256", "use": "sig"}]}
            case "/token":
                return self._exchange(form)
            case "/me":
                return {**self.person, **self.user_info}
        return None

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        provider = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                url = urlsplit(self.path)
                if url.path == "/authorize":
                    asked = {name: values[0] for name, values in parse_qs(url.query).items()}
                    self.send_response(302)
                    self.send_header("Location", provider.authorize(asked))
                    self.end_headers()
                else:
                    self._send(url.path, {})

            def do_POST(self) -> None:
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                self._send(self.path, {name: values[0] for name, values in form.items()})

            def _send(self, path: str, form: dict[str, str]) -> None:
                told = provider._answer(path, form)
                status = 500 if path in provider.down else 400 if told is None else 200
                body = json.dumps(told).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                pass

        return Handler


@contextmanager
def openid_provider() -> Iterator[OpenIdProvider]:
    provider = OpenIdProvider()
    try:
        yield provider
    finally:
        provider.close()
