"""What the demo does, from an empty directory to the table at the end."""

import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import msgspec
import numpy as np

from coterie.child.run import run_child
from coterie.config.env import child_environment
from coterie.demo.api import Api
from coterie.demo.baselines import Baselines, InitialModel, measure_baselines, read_start
from coterie.demo.chromium import Chromium
from coterie.demo.devices import DemoDevice
from coterie.demo.digits import CLASSES, Deal, Samples, deal, together
from coterie.demo.export import JOB as EXPORT
from coterie.demo.export import ExportArguments, Exported
from coterie.demo.peers import PEERS, PLAN, PeerDevices, Peers, make_peer_devices, make_stream
from coterie.demo.phone import NAME as PHONE
from coterie.demo.phone import DemoPhone
from coterie.demo.platform_and_agents import join_all, platform_ready
from coterie.demo.report import Accuracy, Newcomer, PhoneShare, Report, UpdateBytes
from coterie.demo.screen import Screen, counted
from coterie.demo.script_player import ScriptPlayer
from coterie.demo.setting_up import npz, stop_all, submit_digits
from coterie.demo.view import View
from coterie_learning.device_plan import LOCAL as LOCAL_KINDS
from coterie_learning.plan import Document

LOCAL = LOCAL_KINDS.parse({"kind": "sgd", "epochs": 5, "learning_rate": 0.03, "momentum": 0.9})
DEADLINE_S = 30.0
FLEET = "fleet"
"""Tag of the devices that take part in rounds."""


@dataclass(frozen=True, kw_only=True)
class DigitsDemo:
    """One run of the demo."""

    state: Path
    port: int
    devices: int
    rounds: int
    seed: int
    screen: Screen
    browser: Chromium | None
    """In which one more device takes part, as a phone does; None: agents alone."""

    @contextmanager
    def run(self) -> Iterator[Report]:
        """Play the story; platform and devices go on until the block ends.

        Raises ApiFailed, ServerFailed, AgentFailed or BrowserFailed.
        """
        started = time.monotonic()
        dealt = deal(devices=self._members, seed=self.seed)
        environment = child_environment(state=str(self.state))
        with ExitStack() as stack:
            pool = stack.enter_context(ThreadPoolExecutor(max_workers=4))
            self.screen.doing("The platform starts; the two models are exported")
            exported = pool.submit(run_child, EXPORT, ExportArguments(str(self.state), self.seed))
            url, api = stack.enter_context(
                platform_ready(state=self.state, port=self.port, screen=self.screen, environment=environment)
            )

            fleet = [
                DemoDevice(
                    name=f"device-{number + 1}",
                    home=self.state / "devices" / str(number + 1),
                    samples=samples,
                    environment=environment,
                )
                for number, samples in enumerate(dealt.devices[: self.devices])
            ]
            everything, rng = together(dealt.devices), np.random.default_rng(self.seed)
            members = make_peer_devices(everything, home=self.state / "devices", environment=environment, rng=rng)
            joining = {FLEET: fleet, PEERS: members.everybody}
            stack.callback(stop_all, [device for devices in joining.values() for device in devices])
            ending = threading.Event()
            tokens = {tag: api.enrolment_token(uses=len(devices), tag=tag) for tag, devices in joining.items()}
            coming = pool.submit(join_all, joining, url, tokens, ending)
            stack.callback(wait, [coming])  # else one could start a device after all have been stopped
            stack.callback(ending.set)
            files = exported.result()
            cloud = api.add_dataset("cloud", npz(self.state / "cloud.npz", dealt.cloud))
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
            coming.result()
            names = [*(device.name for device in fleet), PHONE][: self._members]
            self.screen.holdings(
                {name: _favourites(samples) for name, samples in zip(names, dealt.devices, strict=True)}
            )
            federation = self._federate(api, pair, dealt)
            if self.browser is not None:  # only now, so that its page says what is learned
                phone = DemoPhone(self.browser, samples=dealt.devices[-1], state=self.state)
                phone.join(url, api.enrolment_token(uses=1, tag=FLEET))
                self.screen.say("A phone in a browser has joined by a link")
            peers = pool.submit(self._peers, api, files, cloud, members, dealt.held_out, make_stream(everything, rng))
            director = ScriptPlayer(self.screen, self.rounds, self.seed, fleet, peers)
            view = director.follow(lambda: api.view(federation, tag=FLEET))
            self.screen.doing("What it is compared with is still being trained" if not baselines.done() else "")
            compared = baselines.result()
            yield self._report(view, start, compared, peers.result().outcome(), time.monotonic() - started)

    @property
    def _members(self) -> int:
        """Devices that take part in rounds."""
        return self.devices + (self.browser is not None)

    def _publish_pair(self, api: Api, files: Exported, cloud: str, samples: int) -> str:
        pair = submit_digits(api, "digits", files)
        api.wait_for_jobs(pair, until=lambda found: found.state == "ready", tell=self.screen.doing)
        self.screen.say("The model pair passed its pre-flight: the device model is now two ONNX graphs")
        api.bootstrap(pair, dataset=cloud, seed=self.seed)
        api.wait_for_jobs(pair, until=lambda found: found.device_champion is not None, tell=self.screen.doing)
        self.screen.say(f"The cloud model has learnt from {samples} digits and taught the first device model")
        self.screen.doing("")
        return pair

    def _federate(self, api: Api, pair: str, dealt: Deal) -> str:
        held_out = api.add_dataset("held out", npz(self.state / "held-out.npz", dealt.held_out))
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
        self.screen.say(f"{counted(self.devices, 'agent')} joined; {counted(self.rounds, 'round')} to go")
        return federation

    def _peers(
        self, api: Api, files: Exported, cloud: str, members: PeerDevices, held_out: Samples, stream: Sequence[Samples]
    ) -> Peers:
        """Devices that learn outside of rounds, on a pair of their own, which no round changes."""
        pair = submit_digits(api, PEERS, files)
        api.wait_for_jobs(pair, until=lambda found: found.state == "ready")
        api.bootstrap(pair, dataset=cloud, seed=self.seed)
        api.wait_for_jobs(pair, until=lambda found: found.device_champion is not None)
        federation = api.create_federation(name=PEERS, pair=pair, plan=PLAN, device_tag=PEERS)
        api.start_federation(federation)
        return Peers(
            helped=members.helped,
            alone=members.alone,
            helpers=members.helpers,
            stream=stream,
            held_out=held_out,
            look=lambda: api.help_requests(federation),
            say=self.screen.say,
        )

    def _plan(self) -> Document:
        target = max(1, round(self._members * 0.7))
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

    def _report(
        self, view: View, start: InitialModel, compared: Baselines, newcomer: Newcomer, seconds: float
    ) -> Report:
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
            phone=None if self.browser is None else PhoneShare.of(view.rounds, PHONE),
            rounds_published=len(published),
            dropouts=sum(row.count("released", "dropped", "rejected") for row in view.rounds),
            seconds=seconds,
        )


def _favourites(samples: Samples) -> str:
    counts = np.bincount(samples.y, minlength=CLASSES)
    most = sorted(np.argsort(counts)[::-1][:3].tolist())
    return f"mostly {', '.join(map(str, most))} ({len(samples.y)} in all)"
