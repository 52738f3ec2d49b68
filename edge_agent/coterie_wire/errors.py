"""What is wrong with a message, a bundle or an update, as a stable code and a sentence."""


class WireError(Exception):
    """Bytes from the other side that do not fit the contract.

    `code` is stable and documented (``wire.malformed``); `detail` is a sentence that says what was found and what was
    expected.
    """

    def __init__(self, code: str, detail: str) -> None:
        super().__init__(detail)
        self.code = code
        self.detail = detail
