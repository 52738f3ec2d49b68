"""Errors of the SDK. Each has the code under which the reference of errors documents it."""

from collections.abc import Mapping
from types import MappingProxyType

from coterie.core.errors import Field

NO_FIELDS: Mapping[str, Field] = MappingProxyType({})


class SdkError(Exception):
    """An error with a stable code, a sentence for people, and the fields of the sentence."""

    def __init__(self, code: str, sentence: str, fields: Mapping[str, Field] = NO_FIELDS) -> None:
        self.code = code
        self.sentence = sentence
        self.fields = fields
        super().__init__(f"{sentence} [{code}]")


class Rejected(SdkError):
    """A model that cannot be compiled or does not train, or a pair that does not fit together."""

    @property
    def operator(self) -> str | None:
        """The operator at fault, as ``aten.nonzero.default``; None where it is none."""
        return self._text("operator")

    @property
    def module(self) -> str | None:
        """The path of the module at fault, as ``encoder.layers.0``; None where it is none, "" the model itself."""
        return self._text("module")

    @property
    def advice(self) -> str:
        """What to write instead; where that is not separate, the whole sentence."""
        return self._text("reason") or self.sentence

    def _text(self, name: str) -> str | None:
        value = self.fields.get(name)
        return None if value is None else str(value)


class Refused(SdkError):
    """The platform refused a request: a name that is taken, a token without the scope, a bad data set."""


class JobFailed(SdkError):
    """A bootstrap, or the distillation after it, failed or was cancelled."""


class EvaluationFailed(SdkError):
    """Too few devices have measured a version in time, or an operator stopped them."""


class InvalidPlan(SdkError):
    """A plan with a name or a number that no plan has; the sentence names what there is."""


class OtherModule(SdkError):
    """The parameters of a version have no place in a module: it is not built as the one that was published."""

    def __init__(self, name: str, shape: list[int], known: str) -> None:
        has = f"The version has a parameter {name!r} of shape {shape}, the module has {known}"
        super().__init__("sdk.other_module", f"{has}: give the module as it was published.", {"name": name})


class NotOne(SdkError):
    """A name that no pair has, or several have."""

    def __init__(self, name: str, count: int) -> None:
        called = "No pair is" if not count else f"{count} pairs are"
        super().__init__("sdk.not_one", f"{called} called {name!r}: say the ID, which its page has.", {"name": name})


class NoVersion(SdkError):
    """A model that has no version yet."""

    def __init__(self, what: str) -> None:
        super().__init__(
            "sdk.no_version", f"{what} has no version yet: bootstrap the pair, or use its uploaded weights."
        )


class Unreachable(SdkError):
    """The platform does not answer."""

    def __init__(self, url: str, detail: str) -> None:
        super().__init__("sdk.unreachable", f"{url} does not answer: {detail}.")
