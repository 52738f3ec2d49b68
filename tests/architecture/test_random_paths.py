"""Every draw of random numbers that decides bits names what it is for, by a word that the list of paths has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
READ = (
    "edge_agent",
    "platform/coterie/rounds",
    "platform/coterie/rollouts",
    "platform/coterie/cloud/root_update.py",
)
PATH_BEGINS = {"derive_seed": 1, "lot": 1, "random_bytes": 2, "permutation": 2}
"""Which argument of a function of `coterie_learning.random` is the first of the path after the seed."""
LIST = ROOT / "docs/adr/0063-a-path-for-each-draw.md"


def sources() -> Iterator[Path]:
    for place in READ:
        path = ROOT / place
        yield from path.rglob("*.py") if path.is_dir() else [path]


def draws(path: Path) -> Iterator[tuple[str, str | None]]:
    """Where a path is drawn from, and its word; None where that is not written out."""
    if path.name == "random.py":
        return
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in PATH_BEGINS:
            words = node.args[PATH_BEGINS[node.func.id] :]
            word = words[0].value if words and isinstance(words[0], ast.Constant) else None
            yield f"{path.relative_to(ROOT)}:{node.lineno}", word if isinstance(word, str) else None


def uses() -> dict[str, str | None]:
    """By place, the word."""
    found = dict(draw for path in sources() for draw in draws(path))
    generator = ast.parse((ROOT / "edge_agent/coterie_learning/random.py").read_text(encoding="utf-8"))
    for function in generator.body:
        if isinstance(function, ast.FunctionDef) and function.args.vararg is None:
            words = [node.value for node in ast.walk(function) if isinstance(node, ast.Constant)]
            word = next((word for word in words if isinstance(word, str) and word.isidentifier()), None)
            found[f"random.{function.name}"] = word
    return found


def test_every_draw_says_what_it_is_for() -> None:
    assert len(uses()) > 15
    assert [place for place, word in uses().items() if word is None] == []


def test_no_two_uses_share_a_word() -> None:
    """But a meeting's seed, which a device derives wherever it has left off."""
    words = [word for place, word in uses().items() if not place.startswith("edge_agent/coterie_agent/gossip/")]
    assert sorted(words, key=str) == sorted(set(words), key=str)


def test_the_list_of_paths_is_complete() -> None:
    listed = set(re.findall(r"/([a-z_]+)[/`]", LIST.read_text(encoding="utf-8")))
    assert {word for word in uses().values() if word} - listed == set()
