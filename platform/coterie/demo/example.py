"""The digits example beside a platform that starts it: ``python -m coterie.demo.example URL HOME``.

The first line of standard input is an API token; the process ends with its input, so that no device outlives the
platform that started it, and when the token does. Started again on the same directory it goes on with the same devices.
"""

import select
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from coterie.child.run import run_child
from coterie.config.env import child_environment
from coterie.demo.api import Api, ApiFailed
from coterie.demo.devices import AgentFailed, DemoDevice
from coterie.demo.digits import Deal, deal
from coterie.demo.export import JOB as EXPORT
from coterie.demo.export import ExportArguments
from coterie.demo.setting_up import enrol_all, npz, stop_all, submit_digits

NAME = "Digits example"
TAG = "digits-example"
DEVICES = 4
ROUNDS = 20
DEADLINE_S = 120.0
"""Slow machines, too, deliver within it; all devices are beside the platform, and none is waited for in vain."""
SEED = 0
LOOK_EVERY_S = 2.0
SETTINGS = 'conditions_file = "conditions.json"\nlocal_api = false\n'
PLAN = {
    "local": {"kind": "sgd", "epochs": 5, "learning_rate": 0.03, "momentum": 0.9},
    "codec": {"kind": "int8"},
    "pace": {"kind": "sync", "target_updates": 3, "min_updates": 2, "over_selection": 1.3, "deadline_s": DEADLINE_S},
    "merge": {"kind": "fed_avg"},
}


class Example:
    """A pair, four devices on this machine, and a federation of theirs."""

    def __init__(self, api: Api, url: str, home: Path, say: Callable[[str], None]) -> None:
        self._api = api
        self._url = url
        self._home = home
        self._say = say
        self._dealt = deal(devices=DEVICES, seed=SEED)

    def begin(self) -> list[DemoDevice]:
        """Make what is not there yet, and start the devices. Raises ApiFailed or AgentFailed."""
        federation = self._api.federation_called(TAG)
        if federation is None:
            federation = self._federate(self._publish())
        devices = self._join()
        self._api.start_federation(federation)
        self._say(f"{DEVICES} devices learn to read digits in {ROUNDS} rounds")
        return devices

    def _publish(self) -> str:
        """The pair, bootstrapped."""
        self._say("Both models are exported")
        files = run_child(EXPORT, ExportArguments(str(self._home), SEED))
        pair = self._api.pair_called(TAG)
        if pair is None:
            pair = submit_digits(self._api, NAME, files)
        self._api.wait_for_jobs(pair, until=lambda found: found.state == "ready", tell=self._say)
        if self._api.pair(pair).device_champion is None:
            cloud = self._api.add_dataset(f"{NAME}, cloud", npz(self._home / "cloud.npz", self._dealt.cloud))
            self._api.bootstrap(pair, dataset=cloud, seed=SEED)
            self._api.wait_for_jobs(pair, until=lambda found: found.device_champion is not None, tell=self._say)
        return pair

    def _federate(self, pair: str) -> str:
        held_out = self._api.add_dataset(f"{NAME}, held out", npz(self._home / "held-out.npz", self._dealt.held_out))
        return self._api.create_federation(
            name=NAME,
            pair=pair,
            device_tag=TAG,
            held_out=held_out,
            plan=PLAN,
            seed=SEED,
            rounds_wanted=ROUNDS,
            tolerance=0.15,  # on data this uneven a round may cost accuracy before the next ones win it back
        )

    def _join(self) -> list[DemoDevice]:
        devices = example_devices(self._home, self._dealt)
        new = [device for device in devices if not device.has_joined]
        if new:
            self._say("The devices join")
            enrol_all(new, self._url, self._api.enrolment_token(uses=len(new), tag=TAG))
        for device in devices:
            device.start()
        return devices


def example_devices(home: Path, dealt: Deal) -> list[DemoDevice]:
    """The devices, each with a directory of its own and its part of the samples."""
    return [
        DemoDevice(
            name=f"example-{number + 1}",
            home=home / "devices" / str(number + 1),
            samples=samples,
            environment=child_environment(),
            settings=SETTINGS,
        )
        for number, samples in enumerate(dealt.devices)
    ]


def main(arguments: Sequence[str]) -> int:
    """Run the example until standard input ends; the exit status."""
    url, home = arguments[0], Path(arguments[1])
    home.mkdir(mode=0o700, parents=True, exist_ok=True)
    devices: list[DemoDevice] = []
    try:
        with Api(url, token=sys.stdin.readline().strip()) as api:
            devices = Example(api, url, home, _say).begin()
            while not select.select([sys.stdin], [], [], LOOK_EVERY_S)[0]:
                api.federation_called(TAG)  # refused once the token has ended
    except (ApiFailed, AgentFailed) as error:
        sys.stderr.write(f"{error}\n")
        return 1
    finally:
        stop_all(devices)
    return 0


def _say(sentence: str) -> None:
    sys.stdout.write(f"{sentence}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
