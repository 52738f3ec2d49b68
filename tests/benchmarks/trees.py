"""XGBoost, trained centrally on the rows of the recipe `trees`, beside the recipe's federation and scikit-learn.

XGBoost is no dependency: `python3 -m venv build/peers` and `build/peers/bin/pip install xgboost scikit-learn` install
it for the benchmark alone. Each has its own settings as they ship; the score is the recipe's, on people's own tests.
"""

import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import mean

import numpy as np

from coterie.recipes.shipped import expected_of
from coterie.recipes.trial import made_up_trial
from coterie_recipes import Recipe, load
from coterie_recipes.recipe import Person
from tests.benchmarks.report import Figure

PEERS = Path("build/peers/bin/python")
PROGRAM = """
import sys
import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from xgboost import XGBClassifier
data = np.load(sys.argv[1])
for name, model in (("XGBoost", XGBClassifier(n_jobs=1)), ("scikit-learn", HistGradientBoostingClassifier())):
    model.fit(data["x"], data["y"])
    np.save(f"{sys.argv[2]}/{name}.npy", np.log(model.predict_proba(data["asked"])).astype(np.float32))
"""
CASE = "trees: area under the ROC curve"
TARGET = 0.01
"""Below XGBoost, at most."""


def measure() -> list[Figure]:
    recipe = load("trees")
    seeds = range(expected_of(recipe).seeds)
    if not PEERS.exists():
        raise SystemExit(f"install XGBoost first, for this benchmark alone: see {__name__}")
    central = [_central(recipe, seed) for seed in seeds]
    held = [_federation(recipe, seed) for seed in seeds]
    found = {"the federation": held, **{name: [one[name] for one in central] for name in central[0]}}
    figures = [Figure(CASE, name, mean(scores), "", _each(scores)) for name, scores in found.items()]
    under = mean(found["XGBoost"]) - mean(held)
    return [*figures, Figure(CASE, "under XGBoost", under, "", f"target <= {TARGET}")]


def _each(scores: Sequence[float]) -> str:
    return "seeds " + ", ".join(f"{score:.3f}" for score in scores)


def _federation(recipe: Recipe, seed: int) -> float:
    trial = made_up_trial(recipe, seed=seed)
    return trial.hold(rounds=expected_of(recipe).rounds, report=lambda _: None).by_round[-1]


def _central(recipe: Recipe, seed: int) -> dict[str, float]:
    people = [recipe.draw(seed, number) for number in range(recipe.people)]
    with tempfile.TemporaryDirectory() as directory:
        data = Path(directory, "rows.npz")
        np.savez(
            data,
            x=np.concatenate([person.train.x for person in people]),
            y=np.concatenate([person.train.y for person in people]),
            asked=np.concatenate([person.test.x for person in people]),
        )
        subprocess.run([PEERS, "-c", PROGRAM, data, directory], check=True)
        answers = {file.stem: np.load(file) for file in Path(directory).glob("*.npy")}
    return {name: _score(recipe, people, answered) for name, answered in answers.items()}


def _score(recipe: Recipe, people: Sequence[Person], outputs: np.ndarray) -> float:
    """The mean over people, of answers to all their tests in a row."""
    cuts = np.cumsum([len(person.test.y) for person in people])[:-1]
    return mean(recipe.score(own, person) for own, person in zip(np.split(outputs, cuts), people, strict=True))
