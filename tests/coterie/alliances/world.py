"""An alliance of two devices, whose owners may agree and whose letters are made up."""

from datetime import datetime

import msgspec

from coterie.alliances.models import Alliance
from coterie.alliances.relaying import exchange_letters, join_alliance
from coterie.alliances.services import begin_alliance
from coterie.fleet.models import Device
from coterie.registry.models import ModelVersion
from coterie_wire.alliances import Alliance as Joined
from coterie_wire.alliances import AllianceFigures, ExchangeLetters, JoinAlliance, LettersNews
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.conditions import Reason
from tests.coterie.world import MODEL, START, make_device, make_pair, make_version

WIDTH = 4
CUT = TensorSpec("beside", "float32", (WIDTH,))
LOWER = msgspec.structs.replace(
    MODEL,
    output=TensorSpec("values", "float32", (WIDTH,)),
    target=TensorSpec("target", "float32", (WIDTH,)),
    task="values",
    head=None,
)
UPPER = msgspec.structs.replace(MODEL, inputs=(*MODEL.inputs, CUT), cut="beside")
NOTHING = AllianceFigures()
KEYS = {"columns": b"c" * 32, "labels": b"l" * 32}


def half(slug: str, spec: ModelSpec, loss: str) -> ModelVersion:
    """A version of a pair with that contract."""
    pair = make_pair(slug)
    pair.spec, pair.recipe = msgspec.to_builtins(spec), {"loss": {"kind": loss}}
    pair.save()
    return make_version(pair)


def halves() -> tuple[ModelVersion, ModelVersion]:
    """Of one network, lower and upper."""
    return half("lower", LOWER, "given_gradient"), half("upper", UPPER, "cross_entropy")


class Two:
    """What alliances are tried with."""

    def __init__(self) -> None:
        self.devices: dict[str, Device] = {"columns": make_device("bank"), "labels": make_device("insurer")}
        lower, upper = halves()
        self.alliance: Alliance = begin_alliance(
            name="two",
            columns_device=self.devices["columns"],
            columns_version=lower,
            labels_device=self.devices["labels"],
            labels_version=upper,
            terms={"epochs": 3},
            now=START,
        )

    def join(self, role: str, *, partner: bytes | None = None, now: datetime = START) -> Joined:
        """The owner of a device agrees."""
        other = next(key for name, key in KEYS.items() if name != role)
        message = JoinAlliance(
            alliance=str(self.alliance.pk), key=KEYS[role], partner=partner or other, people=10, columns=4
        )
        return join_alliance(device=self.devices[role], message=message, now=now)

    def exchange(
        self,
        role: str,
        *letters: bytes,
        first: int = 0,
        received: int = 0,
        figures: AllianceFigures = NOTHING,
        ended: str = "",
        reason: Reason | None = None,
        now: datetime = START,
    ) -> LettersNews:
        """One exchange of a device."""
        message = ExchangeLetters(
            alliance=str(self.alliance.pk),
            first=first,
            letters=letters,
            received=received,
            figures=figures,
            ended=ended,  # type: ignore[arg-type]
            reason=reason,
        )
        return exchange_letters(device=self.devices[role], message=message, now=now)

    def look(self) -> Alliance:
        """As the database has it."""
        self.alliance.refresh_from_db()
        return self.alliance
