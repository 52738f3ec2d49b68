"""Three rounds on one home, in a process that can be told to kill itself: ``python -m … HOME MOMENT``."""

import hashlib
import json
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from coterie_agent.blobs import BlobCache
from coterie_agent.home import Home
from coterie_agent.model import fetch_model
from coterie_agent.store.opened import Store, open_store
from coterie_agent.store.personal_model import PersonalTensors
from coterie_agent.store.samples import Row
from coterie_agent.training.assignment import Training
from coterie_agent.training.halt import Halt
from coterie_agent.training.model import Model
from coterie_learning.device_plan import parse_device_plan
from coterie_wire.messages import Assignment
from coterie_wire.tensors import encode_tensors
from tests.coterie_agent.bundles import Bundle, make_bundle, parameters, samples
from tests.coterie_agent.fake_platform import PLAN

OUTCOMES = ("accepted", "dropped", "accepted")
LOCAL = {"kind": "distill", "lambda_d": 1.0, "epochs": 2, "learning_rate": 0.3, "head": "all"}
CONTENT = msgspec.json.encode({**PLAN, "local": LOCAL})


class Moments:
    """Ends the process, as a power failure would, when it passes the moment numbered `last`."""

    def __init__(self, last: int) -> None:
        self._passed, self._last = 0, last

    def __call__(self) -> None:
        self._passed += 1
        if self._passed == self._last:
            os.kill(os.getpid(), signal.SIGKILL)


def main(root: Path, last: int) -> None:
    moment = Moments(last)
    with opened(root) as store:
        for number, outcome in enumerate(OUTCOMES):
            name = f"a{number}"
            if store.work.is_finished(name):
                continue
            bundle = make_bundle(seed=number)
            if store.work.current() is None:
                store.work.accept(Assignment(name, "digits", number, msgspec.Raw(CONTENT), bundle.signed, number, 60))
            while store.work.offer() is None:
                train(store, root, bundle, moment)
            offer = store.work.offer()
            assert offer is not None
            payload = store.work.read_payload(0, offer.size_bytes)
            (root / name).write_text(hashlib.sha256(payload).hexdigest())
            moment()
            store.work.finish(outcome, "", now=number)
            moment()
        found = {slot: hashlib.sha256(content).hexdigest() for slot, content in store.work.states("digits").items()}
        own = store.peers.personal_tensors() or b""
        found["personal model"] = hashlib.sha256(own).hexdigest()
    sent = {path.name: path.read_text() for path in sorted(root.glob("a?"))}
    json.dump({"states": found, "sent": sent, "moments": moment._passed}, sys.stdout)


@contextmanager
def opened(root: Path) -> Iterator[Store]:
    with open_store(Home(root)) as store:
        if not store.samples.count():
            features, labels = samples(30)
            rows = [Row(x.tobytes(), int(label)) for x, label in zip(features, labels, strict=True)]
            store.samples.add(rows, max_samples=1000)
            store.peers.adopt(PersonalTensors("v1", encode_tensors(parameters(7))))
        yield store


def train(store: Store, root: Path, bundle: Bundle, moment: Moments) -> None:
    def halt(_: float) -> Halt | None:
        moment()
        return None

    blobs = BlobCache(Home(root).blobs)
    fetch_model(bundle.manifest, blobs, lambda sha, offset: iter([bundle.blobs[sha][offset:]]), stop=lambda: False)
    message = store.work.current()
    assert message is not None
    Training(
        assignment=message,
        plan=parse_device_plan(CONTENT),
        model=Model(bundle.manifest, blobs),
        store=store,
        threads=1,
        checkpoint_s=0.0,
        halt=halt,
        report=lambda done, total: None,
        record_durations=lambda durations: None,
        rest=lambda worked_s: None,
    ).run()


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
