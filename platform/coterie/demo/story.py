"""What the demo does, from an empty directory to the table at the end."""

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from statistics import mean

import msgspec
import numpy as np

from coterie.accounts.selectors import operator_named
from coterie.accounts.services import sign_in_path
from coterie.child.run import run_child
from coterie.config.env import child_environment
from coterie.demo.api import POLL_S, Api
from coterie.demo.baselines import Baselines, Start, measure_baselines, read_start
from coterie.demo.devices import GOOD, METERED, ON_BATTERY, DemoDevice
from coterie.demo.digits import CLASSES, Deal, Samples, deal, together
from coterie.demo.export import JOB as EXPORT
from coterie.demo.export import ExportArguments, Exported
from coterie.demo.peers import PEERS, PLAN, Cast, Peers, make_cast, make_stream
from coterie.demo.report import Accuracy, Newcomer, Report, UpdateBytes
from coterie.demo.scenario import Act, write_script
from coterie.demo.screen import Screen, counted, size
from coterie.demo.server import DemoServer
from coterie.demo.view import RoundRow, View
from coterie_learning.device_plan import LOCAL as LOCAL_KINDS
from coterie_learning.plan import Document

LOCAL = LOCAL_KINDS.parse({"kind": "sgd", "epochs": 5, "learning_rate": 0.03, "momentum": 0.9})
BATCH_SIZE = 16
DEADLINE_S = 30.0
AWAY_S = 1.5
"""How long the killed device stays dead."""
FLEET = "fleet"
"""Tag of the devices that take part in rounds."""


@dataclass(frozen=True, kw_only=True)
class Demo:
    """One run of the demo."""

    state: Path
    port: int
    devices: int
    rounds: int
    seed: int
    screen: Screen

    @contextmanager
    def run(self) -> Iterator[Report]:
        """Play the story; platform and devices go on until the block ends.

        Raises ApiFailed, ServerFailed or AgentFailed.
        """
        started = time.monotonic()
        dealt = deal(devices=self.devices, seed=self.seed)
        environment = child_environment(state=str(self.state))
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(max_workers=3))
            self.screen.doing("The platform starts; the two models are exported")
            exported = pool.submit(run_child, EXPORT, ExportArguments(str(self.state), self.seed))
            server = DemoServer(port=self.port, log=self.state / "platform.log", environment=environment)
            stack.enter_context(server)
            server.wait_until_ready()
            assert server.operator is not None, "a fresh platform names its first operator"
            name, password = server.operator.name, Path(server.operator.password_file).read_text()
            self.screen.open_at(server.url + sign_in_path(operator=operator_named(name)))
            api = stack.enter_context(Api(server.url, operator=name, password=password))

            fleet = [
                DemoDevice(
                    name=f"device-{number + 1}",
                    home=self.state / "devices" / str(number + 1),
                    samples=samples,
                    environment=environment,
                )
                for number, samples in enumerate(dealt.devices)
            ]
            everything, rng = together(dealt.devices), np.random.default_rng(self.seed)
            cast = make_cast(everything, home=self.state / "devices", environment=environment, rng=rng)
            joining = {FLEET: fleet, PEERS: cast.everybody}
            stack.callback(_stop, [device for devices in joining.values() for device in devices])
            ending = threading.Event()
            tokens = {tag: api.enrolment_token(uses=len(devices), tag=tag) for tag, devices in joining.items()}
            joined = pool.submit(_join, joining, server.url, tokens, ending)
            stack.callback(wait, [joined])  # else it could start a device after all have been stopped
            stack.callback(ending.set)
            files = exported.result()
            cloud = api.add_dataset("cloud", _npz(self.state / "cloud.npz", dealt.cloud))
            pair = self._publish_pair(api, files, cloud, len(dealt.cloud.y))
            start = read_start(api.archive(api.first_version(pair)))
            baselines = pool.submit(
                measure_baselines,
                start,
                devices=dealt.devices,
                held_out=dealt.held_out,
                local=LOCAL,
                rounds=self.rounds,
                seed=self.seed,
            )
            joined.result()
            self.screen.holdings({device.name: _favourites(device.samples) for device in fleet})
            federation = self._federate(api, pair, dealt)
            peers = pool.submit(self._peers, api, files, cloud, cast, dealt.held_out, make_stream(everything, rng))
            view = _Director(self, fleet, peers).follow(lambda: api.view(federation, tag=FLEET))
            self.screen.doing("What it is compared with is still being trained" if not baselines.done() else "")
            compared = baselines.result()
            yield _report(view, start, compared, peers.result().outcome(), time.monotonic() - started)

    def _publish_pair(self, api: Api, files: Exported, cloud: str, samples: int) -> str:
        pair = _submit_pair(api, "digits", files)
        api.wait_for_jobs(pair, until=lambda found: found.state == "ready", tell=self.screen.doing)
        self.screen.say("The model pair passed its pre-flight: the device model is now two ONNX graphs")
        api.bootstrap(pair, dataset=cloud, seed=self.seed)
        api.wait_for_jobs(pair, until=lambda found: found.device_champion is not None, tell=self.screen.doing)
        self.screen.say(f"The cloud model has learnt from {samples} digits and taught the first device model")
        self.screen.doing("")
        return pair

    def _federate(self, api: Api, pair: str, dealt: Deal) -> str:
        held_out = api.add_dataset("held out", _npz(self.state / "held-out.npz", dealt.held_out))
        federation = api.create_federation(
            name="digits",
            pair=pair,
            device_tag=FLEET,
            held_out=held_out,
            plan=self._plan(),
            seed=self.seed,
            rounds_wanted=self.rounds,
            tolerance=0.15,  # on data this uneven a round may cost accuracy before the next ones win it back
        )
        api.start_federation(federation)
        self.screen.say(f"{counted(self.devices, 'device')} joined; {counted(self.rounds, 'round')} to go")
        return federation

    def _peers(
        self, api: Api, files: Exported, cloud: str, cast: Cast, held_out: Samples, stream: Sequence[Samples]
    ) -> Peers:
        """Devices that learn outside of rounds, on a pair of their own, which no round changes."""
        pair = _submit_pair(api, PEERS, files)
        api.wait_for_jobs(pair, until=lambda found: found.state == "ready")
        api.bootstrap(pair, dataset=cloud, seed=self.seed)
        api.wait_for_jobs(pair, until=lambda found: found.device_champion is not None)
        federation = api.create_federation(name=PEERS, pair=pair, plan=PLAN, device_tag=PEERS)
        api.start_federation(federation)
        return Peers(
            helped=cast.helped,
            alone=cast.alone,
            helpers=cast.helpers,
            stream=stream,
            held_out=held_out,
            look=lambda: api.help_requests(federation),
            say=self.screen.say,
        )

    def _plan(self) -> Document:
        target = max(1, round(self.devices * 0.7))
        return {
            "local": msgspec.to_builtins(LOCAL),
            "codec": {"kind": "int8"},
            "pace": {
                "kind": "sync",
                "target_updates": target,
                "min_updates": max(1, target // 2),
                "over_selection": 1.3,
                "deadline_s": DEADLINE_S,
                "absent_s": 5.0,
            },
            "merge": {"kind": "fed_avg"},
        }


@dataclass
class _Director:
    """Plays the script while the rounds go by, and from halfway the peers' story."""

    demo: Demo
    fleet: Sequence[DemoDevice]
    peers: "Future[Peers]"
    _script: list[Act] = field(init=False)
    _round: int = 0
    _shown: set[int] = field(default_factory=set)
    _victim: DemoDevice | None = None
    _dead_until: float | None = None

    def __post_init__(self) -> None:
        self._script = list(write_script(devices=len(self.fleet), rounds=self.demo.rounds, seed=self.demo.seed))

    def follow(self, look: Callable[[], View]) -> View:
        """Until the federation has had its rounds and the peers' story is over; the last view."""
        while True:
            view = look()
            peers = self.peers.result() if self.peers.done() else None
            self.demo.screen.show(view, () if peers is None else peers.rows())
            self._tell(view)
            if view.is_finished and peers is not None and peers.is_over:
                return view
            self._act(view)
            if peers is not None and self._is_halfway(view):
                peers.step()
            time.sleep(POLL_S)

    def _tell(self, view: View) -> None:
        for row in view.rounds:
            if row.is_over and row.id not in self._shown:
                self._shown.add(row.id)
                self.demo.screen.say(_sentence(row))

    def _act(self, view: View) -> None:
        if view.current is None:
            return
        if self._dead_until is not None and time.monotonic() >= self._dead_until:
            assert self._victim is not None
            self._victim.start()
            self.demo.screen.say(f"{self._victim.name} is back and goes on where it was")
            self._victim = self._dead_until = None
        if view.current.state == "open" and view.current.number > self._round:
            self._round = view.current.number
            self._play()
        if self._victim is not None and self._dead_until is None:
            self._kill_in_training(view)

    def _is_halfway(self, view: View) -> bool:
        return view.current is not None and 2 * view.current.number >= self.demo.rounds

    def _play(self) -> None:
        """What the script has for this round, and for those that went by between two looks."""
        while self._script and self._script[0].round <= self._round:
            act = self._script.pop(0)
            device = self.fleet[act.device]
            if act.event == "killed":
                self._victim = device
                continue
            device.set_conditions({"unplugged": ON_BATTERY, "left Wi-Fi": METERED, "came back": GOOD}[act.event])
            self.demo.screen.say(f"{device.name} {act.event}")

    def _kill_in_training(self, view: View) -> None:
        """Whoever trains serves: the chosen device may not have been invited."""
        assert view.current is not None
        training = {row.device_name for row in view.current.assignments if row.stage == "training"}
        live = [device for device in self.fleet if device.name in training]
        if live:
            self._victim = self._victim if self._victim in live else live[0]
            self._victim.kill()
            self._dead_until = time.monotonic() + AWAY_S
            self.demo.screen.say(f"{self._victim.name} was killed in mid-training")


def _join(
    joining: Mapping[str, Sequence[DemoDevice]], url: str, tokens: Mapping[str, str], ending: threading.Event
) -> None:
    """By tag, devices and the token that lets them in."""
    for tag, devices in joining.items():
        for device in devices:
            if ending.is_set():
                return
            device.join(url, tokens[tag])
            device.start()


def _stop(fleet: Sequence[DemoDevice]) -> None:
    for device in fleet:
        device.stop()
    for device in fleet:
        device.wait()


def _sentence(row: RoundRow) -> str:
    if row.state == "abandoned":
        return f"Round {row.number} was abandoned: {row.reason_sentence}"
    accuracy = row.metrics.get("accuracy", float("nan"))
    sizes = row.update_sizes
    missing = row.count("released", "dropped", "rejected")
    without = f", {missing} did not deliver" if missing else ""
    return f"Round {row.number}: {accuracy:.1%} with {counted(len(sizes), 'update')} of {size(mean(sizes))}{without}"


def _favourites(samples: Samples) -> str:
    counts = np.bincount(samples.y, minlength=CLASSES)
    most = sorted(np.argsort(counts)[::-1][:3].tolist())
    return f"mostly {', '.join(map(str, most))} ({len(samples.y)} in all)"


def _submit_pair(api: Api, name: str, files: Exported) -> str:
    labels = [str(digit) for digit in range(CLASSES)]
    device, cloud = Path(files.device), Path(files.cloud)
    return api.submit_pair(name, device=device, cloud=cloud, labels=labels, batch_size=BATCH_SIZE)


def _npz(path: Path, samples: Samples) -> Path:
    np.savez(path, x=samples.x, y=samples.y)
    return path


def _report(view: View, start: Start, compared: Baselines, newcomer: Newcomer, seconds: float) -> Report:
    published = [row for row in view.rounds if row.state == "published"]
    return Report(
        accuracy=Accuracy(
            bootstrap=compared.bootstrap,
            alone_mean=compared.alone_mean,
            federation=published[-1].metrics["accuracy"],
            central=compared.central,
        ),
        update_bytes=UpdateBytes(
            int8=mean(size_bytes for row in published for size_bytes in row.update_sizes),
            float32=start.float32_update_bytes(),
        ),
        newcomer=newcomer,
        rounds_published=len(published),
        dropouts=sum(row.count("released", "dropped", "rejected") for row in view.rounds),
        seconds=seconds,
    )
