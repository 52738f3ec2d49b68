"""A job that does what a test asks of it."""

from typing import ClassVar, Literal

import msgspec

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
        "spin",
        "wait",
        "write",
        "network",
        "exit",
        "environment",
        "fill",
        "unconfined",
    ]
    number: int = 0
    path: str = ""


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
