"""Two parties in one process: tables of the recipe, compiled halves, and letters that pass between them."""

import hashlib
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch

from coterie.compile.compiled import CompiledModel, compile_model
from coterie.compile.program import export_module
from coterie.compile.recipe import parse_recipe
from coterie_agent.alliance.halves import OnnxLower, OnnxUpper
from coterie_agent.alliance.table import PeopleTable
from coterie_agent.blobs import BlobCache
from coterie_agent.training.model import Model
from coterie_learning.vertical.letters import Letter
from coterie_learning.vertical.party import ColumnsParty, LabelsParty, Party, PartyState
from coterie_learning.vertical.terms import VerticalTerms
from coterie_recipes.two_parties.generator import CLASSES, Population, draw_population
from coterie_recipes.two_parties.generator import Party as Known
from coterie_recipes.two_parties.models import (
    BATCH_SIZE,
    LOWER_RECIPE,
    UPPER_RECIPE,
    Lower,
    Upper,
    lower_example,
    upper_example,
)
from coterie_wire.bundle import BlobRef, Manifest
from coterie_wire.tensors import encode_tensors
from coterie_wire.version import PROTOCOL


@cache
def compiled_halves(seed: int = 0) -> tuple[CompiledModel, CompiledModel]:
    """The recipe's, lower and upper."""
    torch.manual_seed(seed)
    lower = export_module(Lower(), lower_example())
    upper = export_module(Upper(), upper_example())
    return (
        compile_model(lower, parse_recipe(LOWER_RECIPE), batch_size=BATCH_SIZE),
        compile_model(upper, parse_recipe(UPPER_RECIPE), batch_size=BATCH_SIZE),
    )


def model_of(compiled: CompiledModel, folder: Path) -> Model:
    """The compiled half as a device has it."""
    folder.mkdir(parents=True, exist_ok=True)
    blobs = BlobCache(folder)

    def kept(content: bytes) -> BlobRef:
        ref = BlobRef(hashlib.sha256(content).hexdigest(), len(content))
        blobs.keep(ref, content)
        return ref

    manifest = Manifest(
        protocol=PROTOCOL,
        pair="two-parties",
        version="1",
        number=1,
        model=compiled.spec,
        labels=CLASSES if compiled.spec.task == "classes" else (),
        train_step=kept(compiled.train_step),
        predict=kept(compiled.predict),
        parameters=kept(encode_tensors(compiled.parameters)),
    )
    return Model(manifest, blobs)


def table_of(known: Known, needs: np.ndarray | None = None) -> PeopleTable:
    """An organisation's table, its columns standardised as those of a file are; class -1 has no label."""
    names = tuple(f"c{number}" for number in range(known.columns.shape[1]))
    columns = (known.columns - known.columns.mean(axis=0)) / known.columns.std(axis=0)
    labels = () if needs is None else tuple(CLASSES[need] if need >= 0 else "" for need in needs)
    return PeopleTable(known.identifiers, names, columns.astype(np.float32), labels)


def beginning(number: int) -> PartyState:
    """Of party `number`, the same whenever it is asked for."""
    return Party.beginning(salt=b"salt", secret=hashlib.sha512(bytes([number])).digest())


def parties(
    population: Population, terms: VerticalTerms, folder: Path, *, needs: np.ndarray | None = None, seed: int = 0
) -> tuple[ColumnsParty, LabelsParty]:
    """Both, before anything is said."""
    lower, upper = compiled_halves(seed)
    bank = table_of(population.bank)
    insurer = table_of(population.insurer, population.needs if needs is None else needs)
    below = OnnxLower(model_of(lower, folder / "bank"), bank)
    above = OnnxUpper(model_of(upper, folder / "insurer"), insurer, CLASSES)
    return (
        ColumnsParty(bank.identifiers, below, terms, beginning(0)),
        LabelsParty(insurer.identifiers, above, terms, beginning(1)),
    )


def hold_talks(
    first: Party, second: Party, *, seen: Callable[[int, Letter], None] = lambda _sender, _letter: None
) -> None:
    """Pass letters until nobody has one; `seen` is told each with who wrote it, 0 or 1."""
    waiting = deque([(0, letter) for letter in first.begin()] + [(1, letter) for letter in second.begin()])
    while waiting:
        sender, letter = waiting.popleft()
        seen(sender, letter)
        receiver = (second, first)[sender]
        waiting.extend((1 - sender, answer) for answer in receiver.receive(letter))


def small_population(seed: int = 1) -> Population:
    """For tests: 200 common people, 50 more of either."""
    return draw_population(seed, common=200, apart=50)
