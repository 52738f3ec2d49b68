"""A job that does what a test asks of it."""

from typing import ClassVar, Literal

import msgspec

from coterie.child.files import ReadPath, WritePath
from coterie.child.job import ChildJob
from coterie.core.errors import CoterieError, ErrorKind


class Refused(CoterieError):
    code = "test.refused"
    kind = ErrorKind.INVALID
    sentence = "{what} was refused."


class Undeclared(CoterieError):
    code: ClassVar[str] = "test.undeclared"
    kind = ErrorKind.INVALID
    sentence = "Nobody declared this."


class Arguments(msgspec.Struct, frozen=True):
    deed: Literal[
        "double",
        "print",
        "refuse",
        "undeclared",
        "eat",
        "eat in onnxruntime",
        "spin",
        "wait",
        "write",
        "network",
        "exit",
        "environment",
        "fill",
        "unconfined",
        "read",
        "kill",
        "socket",
        "kind",
    ]
    number: int = 0
    path: ReadPath = ""
    """What it reads."""
    output: WritePath = ""
    """What it writes."""
    other: str = ""
    """What it reads or writes instead, though it is not named as a file."""


class Answer(msgspec.Struct, frozen=True):
    number: int
    text: str = ""


JOB = ChildJob(
    module=__name__,
    work="tests.coterie.child.deeds_work:run",
    arguments=Arguments,
    result=Answer,
    errors=(Refused,),
)
