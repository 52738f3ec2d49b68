"""The page of a device that was forgotten: what became of that, as the platform tells whoever has the receipt."""

import secrets
from collections.abc import Callable

from coterie_agent.errors import AgentError, Exit
from coterie_agent.loopback import LoopbackServer
from coterie_agent.owner_page.files import RECEIPT_PAGE, pages
from coterie_agent.site import Site
from coterie_wire.owning import ForgetNews


class ReceiptServer:
    """Serves the page and what it asks for, on 127.0.0.1 and with a token of its own."""

    def __init__(self, read: Callable[[], ForgetNews], *, port: int) -> None:
        """Listen; `read` asks the platform. Raises AgentError ``local_api.port_taken``."""
        token = secrets.token_urlsafe(32)
        site = Site(routes={"GET /receipt": lambda _: read()}, pages=pages(RECEIPT_PAGE))
        try:
            self._server = LoopbackServer(site, token=token, port=port)
        except OSError as error:
            detail = f"port {port} of the local API: {error.strerror}; choose another in agent.toml"
            raise AgentError("local_api.port_taken", detail, exit_code=Exit.BAD_CONFIG) from error
        self.url = f"http://127.0.0.1:{self._server.server_port}/#{token}"
        """With the token, which lets whoever has it read the receipt."""

    def run(self) -> None:
        """Serve until `stop`."""
        self._server.run()

    def stop(self) -> None:
        """May be called from any other thread."""
        self._server.shutdown()

    def close(self) -> None:
        """Take no more connections."""
        self._server.server_close()
