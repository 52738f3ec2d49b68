"""Supernodes against a star: bytes that leave a site, time behind a shared uplink, same bits; finding devices; islands.

Updates are those of one training (a random walk of the same size for each device), encoded by the codec; the bytes are
the lengths of the files that travel, with those of the messages that announce them. The uplink is a socket whose reader
takes 8 Mbit/s; every device's upload, or the supernode's, goes through the same one.
"""

import hashlib
import math
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from typing import NamedTuple

import msgspec
import numpy as np

from coterie_learning.codec import Codec
from coterie_learning.codec.float32 import Float32Codec
from coterie_learning.codec.int8 import Int8
from coterie_learning.fold import Aggregation, CountedUpdate, fold_in_memory, partial_aggregate
from coterie_learning.local.sgd import Sgd
from coterie_learning.merge.fed_avg import FedAvg
from coterie_learning.partial_sums import PartialFile, PartialSum, added, encode_sums, fingerprint, sum_specs
from coterie_learning.update_files import Contents, UpdateFile
from coterie_wire.bundle import ModelSpec, TensorSpec
from coterie_wire.message import Message
from coterie_wire.messages import OfferUpdate
from coterie_wire.relaying import HandIn, OfferPartial, Receipt, sign_receipt
from coterie_wire.tensor_files import InMemory
from coterie_wire.tensors import Float32
from tests.benchmarks.island import measure_island
from tests.benchmarks.report import Figure
from tests.coterie_agent.discovery.simulated import Network, look_ups
from tests.coterie_learning.tree_schedules import Schedule

UPLINK_BYTES_S = 8e6 / 8
PIECE_BYTES = 16 << 10
FRAMING_BYTES = 400
"""Of HTTP, for each message."""
REGION, TREES = Int8(), 1000
LEADERS_KILLED = 100
NETWORKS, LOOK_UPS = (100, 1000, 10_000), 1000
LOCAL, SEED = Sgd(), bytes(32)
MODEL = ModelSpec.of_classifier(
    inputs=(TensorSpec("x", "float32", (784,)),),
    classes=10,
    batch_size=32,
    parameters=(TensorSpec("hidden", "float32", (64, 784)), TensorSpec("output", "float32", (10, 64))),
)


class Site(NamedTuple):
    """Devices behind one uplink, besides their supernode."""

    codec: Codec
    devices: int
    bytes_target: str
    time_target: str


SITES = (
    Site(Int8(), 8, "target <= 0.30x", "-"),
    Site(Float32Codec(), 8, "target <= 0.07x", "-"),
    Site(Int8(), 16, "-", "target >= 4x"),
    Site(Float32Codec(), 16, "-", "target >= 15x"),
    Site(Int8(), 2, "control: costs bytes", "control: costs time"),
)


def measure() -> list[Figure]:
    sites = [figure for site in SITES for figure in _figures(site)]
    return [*sites, *_region(), *_schedules(), *_finding(), *measure_island(LEADERS_KILLED)]


def _region() -> Iterator[Figure]:
    """Sums of sites that meet at a supernode above: what leaves the region, of what leaves it with one tier alone."""
    sites, each = 8, 4
    own = []
    for site in range(sites):
        updates = [_opened(REGION, _update(REGION, site * each + number)) for number in range(each)]
        own.append(partial_aggregate(MODEL.parameters, [_counted(one, 100) for one in updates], parts=LOCAL.parts))
    one_tier = sum(len(encode_sums(sums, of="fold")) for sums in own)
    started = time.process_time()
    content = encode_sums(added(own), of="fold")
    adding_s = time.process_time() - started
    name = f"{sites} sites of {each} devices, {REGION.name}"
    yield Figure(
        name, "sums out of the region", len(content) / one_tier, "x of one tier's", "-", one_tier / len(content)
    )
    yield Figure(name, "adding sums, of the processor", 1000 * adding_s, "ms")


def _schedules() -> Iterator[Figure]:
    """Random trees in which supernodes, devices and links fail, on the rules that production decides by."""
    wrong = twice = lost = deepest = 0
    started = time.process_time()
    for seed in range(TREES):
        found = Schedule(seed).run()
        wrong += found.total.tolist() != found.expected.tolist()
        twice += any(times > 1 for times in found.counted.values())
        lost += not found.counted.keys() >= found.reachable
        deepest = max(deepest, found.depth)
    name = f"{TREES} random trees and failures, up to {deepest} supernodes on a way"
    yield Figure(name, "sums that are not a star's", float(wrong), f"of {TREES}", "target 0")
    yield Figure(name, "with an update counted twice", float(twice), f"of {TREES}", "target 0")
    yield Figure(name, "without one of a device that was there", float(lost), f"of {TREES}", "target 0")
    yield Figure(name, "one, of the processor", 1000 * (time.process_time() - started) / TREES, "ms")


def _finding() -> Iterator[Figure]:
    """Devices that look for others of which they have never heard, before and right after a share of all is gone."""
    for devices in NETWORKS:
        network = Network(devices, seed=devices)
        yield from _looked_up(network, f"{devices} devices", "target >= 0.99")
        network.leave(0.2)
        yield from _looked_up(network, f"{devices} devices, a fifth of them gone", "target >= 0.99")
        network.leave(0.875)
        yield from _looked_up(network, f"{devices} devices, nine of ten gone", "control: nobody is left who knew them")


def _looked_up(network: Network, name: str, target: str) -> Iterator[Figure]:
    outcome, bits = look_ups(network, LOOK_UPS), math.log2(len(network.nodes))
    yield Figure(name, "devices found", outcome.found, "of all", target)
    yield Figure(name, "steps to them", outcome.hops, "steps", f"log2 of the devices, {bits:.1f}", bits / outcome.hops)
    yield Figure(name, "at most", float(outcome.most_hops), "steps")
    yield Figure(name, "devices asked", outcome.asked, "devices")


def _figures(site: Site) -> Iterator[Figure]:
    payloads = [_update(site.codec, number) for number in range(site.devices)]
    weights = [20 + number for number in range(site.devices)]
    updates = [_opened(site.codec, payload) for payload in payloads]
    counted = [_counted(update, weight) for update, weight in zip(updates, weights, strict=True)]
    started = time.process_time()
    sums = partial_aggregate(MODEL.parameters, counted, parts=LOCAL.parts)
    content = encode_sums(sums, of="fold")
    summing_s = time.process_time() - started
    star = [len(payload) + _message_bytes(_offer(payload)) for payload in payloads]
    tree = [_message_bytes(_offer(payload)) + _message_bytes(_hand_in(payload)) for payload in payloads]
    tree += [len(content) + _message_bytes(OfferPartial("f" * 36, "0" * 64, len(content)))]
    name = f"{site.devices} devices, {site.codec.name}"
    yield Figure(
        name, "bytes out of the site", sum(tree) / sum(star), "x of a star's", site.bytes_target, sum(star) / sum(tree)
    )
    direct_s, by_sum_s = _uplink_s(star), _uplink_s(tree)
    yield Figure(
        name, "time of the uplink", by_sum_s, "s", f"star, {direct_s:.2f} s; {site.time_target}", direct_s / by_sum_s
    )
    yield Figure(name, "a sum, by parameter", len(content) / sum(sum_specs(MODEL, LOCAL).values()), "bytes")
    yield Figure(name, "summing, of the processor", 1000 * summing_s, "ms")
    yield Figure(name, "checking, of the processor", 1000 * _checked_s(content, updates, weights), "ms")
    file = PartialFile(InMemory(content), expected=sum_specs(MODEL, LOCAL), of="fold")
    same = _merged(counted, ()) == _merged((), [PartialSum(file, weights)])
    yield Figure(name, "versions with other bits than a star's", float(not same), "of 1", "target 0")


def _checked_s(content: bytes, updates: Sequence[UpdateFile], weights: Sequence[int]) -> float:
    """Processor time of the platform's check of a sum."""
    found = []
    for update, weight in zip(updates, weights, strict=True):
        own = partial_aggregate(MODEL.parameters, [_counted(update, 1)], parts=LOCAL.parts)
        found.append((weight, fingerprint(SEED, own.items())))
    started = time.process_time()
    PartialFile(InMemory(content), expected=sum_specs(MODEL, LOCAL), of="fold").check(SEED, found)
    return time.process_time() - started


def _update(codec: Codec, number: int) -> bytes:
    rng = np.random.default_rng(number)
    delta = {spec.name: 0.01 * rng.standard_normal(spec.shape, dtype=np.float32) for spec in MODEL.parameters}
    return codec.encode(delta, seed=number).payload


def _opened(codec: Codec, payload: bytes) -> UpdateFile:
    return Contents(MODEL, codec, LOCAL).open(InMemory(payload), ())


def _counted(update: UpdateFile, weight: int) -> CountedUpdate:
    return CountedUpdate(lambda: nullcontext(update), weight)


def _merged(updates: Sequence[CountedUpdate], partials: Sequence[PartialSum]) -> list[bytes]:
    base: dict[str, Float32] = {spec.name: np.zeros(spec.shape, np.float32) for spec in MODEL.parameters}
    merged = fold_in_memory(FedAvg(), MODEL.parameters, updates, base, None, Aggregation(partials=partials))
    return [tensor.tobytes() for tensor in merged.parameters.values()]


def _offer(payload: bytes) -> OfferUpdate:
    sha256 = hashlib.sha256(payload).hexdigest()
    return OfferUpdate("a" * 36, sha256, len(payload), 200, 100, 100, 1.234567, 0.987654, 0.71, 12.5)


def _hand_in(payload: bytes) -> HandIn:
    receipt = Receipt("a" * 36, hashlib.sha256(payload).hexdigest(), 1, 1.2345678)
    return HandIn("a" * 36, sign_receipt(receipt, SEED), (2**31 - 2, 2**31 - 20))


def _message_bytes(message: Message) -> int:
    return len(msgspec.json.encode(message)) + FRAMING_BYTES


def _uplink_s(sizes: Sequence[int]) -> float:
    """Wall time until all has gone through one shaped uplink; devices share it, so it is that of the sum."""
    sender, reader = socket.socketpair()
    with sender, reader:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, PIECE_BYTES)
        writing = threading.Thread(target=lambda: [sender.sendall(bytes(size)) for size in sizes], daemon=True)
        started = time.monotonic()
        writing.start()
        left = sum(sizes)
        done = 0
        while left:
            read = len(reader.recv(min(left, PIECE_BYTES)))
            left, done = left - read, done + read
            time.sleep(max(0.0, started + done / UPLINK_BYTES_S - time.monotonic()))
        return time.monotonic() - started
