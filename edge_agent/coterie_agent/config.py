"""The owner's settings: one TOML file, read once into a frozen struct; unknown keys are refused."""

import re
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from coterie_agent.errors import AgentError, Exit
from coterie_agent.sharing import ReportDetail
from coterie_learning.labelling import AskPolicy
from coterie_wire.conditions import Requirements
from coterie_wire.relaying import MAX_MEMBERS
from coterie_wire.secure_sum import MOST_MEMBERS
from coterie_wire.structs import from_values

Fallback = Literal["none", "last_answer"]
"""What is answered when the model is not ready by the deadline: nothing (504), or the last answer of the stream."""
_HOST = re.compile(r"[0-9A-Za-z.-]{1,253}|[0-9A-Fa-f:.]{2,45}")
"""A name, an address of IPv4, or one of IPv6 without brackets."""
MAX_SAMPLES = 256
"""Of one request to the prediction service."""


class PeersSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the owner lets the device have to do with other devices, through the platform."""

    tell: ReportDetail = "counts"
    """What the platform is told of the device's data: exact counts by class, counts rounded to powers of two, only
    which classes there are, or nothing. A device that does not tell how well it knows its classes helps nobody, and one
    that tells nothing cannot ask."""
    help_others: bool = True
    """Send parts of the device's personal model to devices that ask for help."""
    ask: bool = True
    """Ask for help when the device's personal model fails."""


class RelaySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the owner lets the device do for its neighbours: as their supernode it sums their updates."""

    serve: bool = False
    """Offer to be a supernode while the agent runs; and, where it meets its peers, to bring their calls to others."""
    address: str = ""
    """Name or address that neighbours reach the device by; blank: its own on the network that leads to the platform."""
    port: Annotated[int, Meta(ge=1, le=65535)] = 8717
    """Where it listens for them."""
    members: Annotated[int, Meta(ge=1, le=MAX_MEMBERS)] = 32
    """Neighbours at once at most."""
    max_load: Annotated[float, Meta(gt=0, le=10_000)] = 8.0
    """Processes that may wait for each core, as a mean of a minute; beyond, neighbours are sent elsewhere. So they are
    where memory or disk is short, and on battery or a metered network."""


class QuestionSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """In what the owner lets the device be counted when the platform asks its fleet; only sums are ever read."""

    answer: tuple[Literal["classes", "conditions", "hardware", "problems", "samples", "speed"], ...] = ()
    """Subjects: samples by class; charging, network, temperature; kind of machine; why it does not train and how
    assignments ended; how many samples it has; how long steps and uploads take. None: it answers nothing."""
    without_noise: bool = False
    """Also where the sum has no noise, which costs no privacy budget as it has no guarantee."""
    min_devices: Annotated[int, Meta(ge=3, le=MOST_MEMBERS)] = 10
    """Devices that are summed at least."""


class PrivacySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much all federations together may learn of this device, as it counts itself."""

    epsilon: Annotated[float, Meta(ge=0, le=1000)] = 8.0
    """What was told under noise never amounts to more; 0: nothing is told under noise any more."""
    delta: Annotated[float, Meta(gt=0, lt=1)] = 1e-6
    """The probability, about, with which more is told."""
    raised: Literal["accept", "ask"] = "accept"
    """When the platform raises what a federation may tell: go on, within `epsilon`; or take part no more before the
    owner has agreed (``coterie-agent agree``)."""


class ConsentSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner is asked when a plan has more leave the device than was agreed to."""

    more: Literal["ask", "accept"] = "ask"
    """Take no part under such a plan before the owner has agreed (``coterie-agent agree``, or the owner's page); or go
    on, and write down that these settings agree, for fleets whose devices all belong to who runs the platform."""


class GossipSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner lets the device average its model with those of the other devices of a round, its peers."""

    meet: bool = False
    """Meet them; they read the device's model, and never a sample."""
    address: str = ""
    """Name or address that peers reach the device by; blank: its own on the network that leads to the platform."""
    port: Annotated[int, Meta(ge=1, le=65535)] = 8718
    """Where it listens for them."""


class DirectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner lets the device meet others by direct paths, through address translators (ICE)."""

    connect: bool = False
    """Open paths to devices that help it, to its supernode and to its peers, and answer those that open one. They learn
    this device's addresses, sealed for each of them; the platform does not read them. Needs ``coterie-agent[p2p]``."""


class DiscoverySettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner lets the device find others, and be found by them, while the platform is away."""

    mode: Literal["off", "find", "announce"] = "off"
    """Nothing; look for devices that are not where the platform last said; or also tell the other devices of the
    platform where this one answers meetings and updates, and keep for them where others do."""
    local_network: bool = False
    """Look on the local network, too (multicast DNS), and announce there: whoever is on it hears that. Needs
    ``coterie-agent[mdns]``."""

    def __post_init__(self) -> None:
        if self.local_network and self.mode == "off":
            raise ValueError('local_network needs mode = "find" or "announce"')


class PageSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner's page is also served to phones on the local network."""

    on_network: bool = False
    """Serve it there, over TLS with a certificate of the device's own, to phones that were let in by a link that is
    good once. Who has such a phone can do what the owner can on the page. Needs ``coterie-agent[page]``."""
    address: str = ""
    """Address or name that phones reach the device by; blank: its own on the network that leads to the platform."""
    port: Annotated[int, Meta(ge=1, le=65535)] = 8719
    """Where it listens for them."""
    show_samples: bool = False
    """Also ask there what a sample shows: it is then shown on the phone, and so leaves the device."""

    def __post_init__(self) -> None:
        if self.address and not _HOST.fullmatch(self.address):
            raise ValueError(f"{self.address!r} is neither an address nor a name of a device")


class ServingSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How ``coterie-agent serve`` answers programs on this device."""

    port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """On 127.0.0.1; 0: one that is free, written with the token to serve.json."""
    socket: str = "serve.sock"
    """Path of a Unix socket that only the owner can open; relative paths start at the agent's home; blank: none."""
    deadline_ms: Annotated[float, Meta(gt=0, le=60_000)] | None = None
    """Milliseconds within which an answer must come, where a request does not say; None: 1000, but 5000 where samples
    may go to the platform and no last answer could stand in, for an answer of the platform takes half a second and
    more."""
    fallback: Fallback = "last_answer"
    """What is answered at the deadline if the model has not: the last answer of the request's stream where there is
    one, or nothing (504)."""
    queue: Annotated[int, Meta(ge=MAX_SAMPLES, le=100_000)] = 1024
    """Samples that may wait; requests that find so many are refused (503)."""
    batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    """Samples that one run of the model answers at most, of those that have gathered."""
    connections: Annotated[int, Meta(ge=1, le=1024)] = 64
    """At once."""
    threads: Annotated[int, Meta(ge=1, le=64)] = 1
    """Processor threads of one run of the model."""
    run_ms: Annotated[float, Meta(gt=0, le=60_000)] = 10.0
    """Milliseconds that one run may take: of the forms of a version the most accurate predicts that takes no longer 99
    times of 100, measured on this device; where none does, the quickest."""


class PlatformSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner lets samples leave the device, to be answered by the platform where the device does not."""

    send_samples: bool = False
    """Send those that the device's own model does not answer in time, or cannot, where the federation's plan has the
    platform answer them. It keeps none of them."""
    after_ms: Annotated[float, Meta(ge=0, le=60_000)] = 500.0
    """Milliseconds for which the device's own model is waited for first; the deadline holds for both together."""


class UpdateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner lets the platform replace the agent by another release of it."""

    take: Literal["off", "ask", "on"] = "ask"
    """Never; those that the owner agrees to (``coterie-agent updates --allow``); all that are signed with the keys that
    the device has pinned."""
    hours: tuple[Annotated[int, Meta(ge=0, le=23)], Annotated[int, Meta(ge=0, le=23)]] | None = None
    """Local hours [from, to) in which it is replaced; from > to spans midnight; None: any."""


class LogSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Whether the owner lets an operator of the platform have the agent's log of this device."""

    send: Literal["never", "ask", "always"] = "ask"
    """To nobody, and no log is kept; what the owner allows, request by request (``coterie-agent logs --allow``); to
    each who asks. Secrets, samples and paths are taken out first."""


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the device's owner decides; every key has a default."""

    policy: Requirements = Requirements()
    """What the owner asks before the device trains. A plan can ask for more, never for less."""
    peers: PeersSettings = PeersSettings()
    """What other devices may learn from this one, and it from them."""
    relay: RelaySettings = RelaySettings()
    """What the device does for its neighbours."""
    questions: QuestionSettings = QuestionSettings()
    """In what the device is counted."""
    labels: AskPolicy = AskPolicy()
    """How often the device asks its owner what a sample shows."""
    privacy: PrivacySettings = PrivacySettings()
    """How much may be learned of the device."""
    consent: ConsentSettings = ConsentSettings()
    """What plans may have leave the device."""
    gossip: GossipSettings = GossipSettings()
    """Whether the device's model meets those of others."""
    direct: DirectSettings = DirectSettings()
    """Whether the device meets others by direct paths."""
    discovery: DiscoverySettings = DiscoverySettings()
    """Whether the device finds others, and is found."""
    page: PageSettings = PageSettings()
    """Whether the owner's page is also for his phone."""
    serving: ServingSettings = ServingSettings()
    """How programs on this device get predictions."""
    platform: PlatformSettings = PlatformSettings()
    """Whether samples leave the device for an answer."""
    updates: UpdateSettings = UpdateSettings()
    """Whether the agent is replaced by other releases of it."""
    logs: LogSettings = LogSettings()
    """Who may have the agent's log."""
    conditions_file: str | None = None
    """JSON that replaces the probes while it exists; relative paths start at the agent's home."""
    max_samples: Annotated[int, Meta(ge=1, le=1_000_000_000)] = 100_000
    """Samples kept; the oldest go first."""
    threads: Annotated[int, Meta(ge=1, le=64)] = 1
    """Processor threads of one train step."""
    processor_share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    """Share of the time that training keeps its threads busy; it rests between steps, and the device stays cool."""
    chunk_bytes: Annotated[int, Meta(ge=1024, le=16 << 20)] = 256 << 10
    """Size of one piece of an upload, in bytes; what a broken link can cost at most."""
    checkpoint_s: Annotated[float, Meta(gt=0, le=3600)] = 5.0
    """Seconds of training that a loss of power can cost at most."""
    spare_bytes: Annotated[int, Meta(ge=0, le=1 << 50)] = 256 << 20
    """Free space, in bytes, below which what can be fetched again is removed once it has served."""
    local_api: bool = True
    """Serve the local API on 127.0.0.1."""
    local_api_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Its port; 0: one that is free, written with the token to local-api.json."""
    traceparent: bool = False
    """Name each HTTPS request to the platform by a random number, so that its operator can follow an assignment's
    requests through the platform's traces. It tells nothing that the platform does not know."""
    ca_file: str | None = None
    """Certificates (PEM) that HTTPS trusts instead of the system's, for a platform with a private authority; relative
    paths start at the agent's home."""


def load_config(path: Path) -> Config:
    """The settings in `path`, relative paths of certificates made absolute; the defaults when there is no such file.

    Raises AgentError ``config.invalid``.
    """
    import tomllib  # only here: most commands run without a settings file

    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Config()
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise _invalid(path, str(error)) from error
    try:
        config = from_values(values, Config)
    except msgspec.ValidationError as error:
        from coterie_agent.wrong_setting import describe_wrong  # only here: hardly any file has a mistake

        raise _invalid(path, describe_wrong(values, Config, error)) from error
    return config if config.ca_file is None else _with_authorities(path, config, path.parent / config.ca_file)


def _with_authorities(path: Path, config: Config, ca_file: Path) -> Config:
    """`config` with the absolute path of `ca_file`, which is checked even where the platform's address is http."""
    import ssl  # only here: hardly any device has such a file

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(ca_file)
    except ssl.SSLError as error:
        raise _invalid(path, f"ca_file: {ca_file} holds no certificate in PEM") from error
    except OSError as error:
        raise _invalid(path, f"ca_file: {ca_file}: {error.strerror}") from error
    return msgspec.structs.replace(config, ca_file=str(ca_file))


def _invalid(path: Path, detail: str) -> AgentError:
    return AgentError("config.invalid", f"{path}: {detail}", exit_code=Exit.BAD_CONFIG)


TEMPLATE = """\
# Settings of this device. Remove a '#' to change one; the values shown are the defaults.

# Samples kept on this device; the oldest go first.
# max_samples = 100000

# Processor threads that training may use.
# threads = 1

# Share of the time that training keeps them busy; less keeps the device cool and quick, and takes longer.
# processor_share = 1.0

# The local API on 127.0.0.1 for programs on this device; port 0 takes a free one (see local-api.json).
# local_api = true
# local_api_port = 0

# Bytes sent in one piece of an upload, and seconds between checkpoints of training.
# chunk_bytes = 262144
# checkpoint_s = 5.0

# Bytes of free space below which the agent removes downloads that it could fetch again.
# spare_bytes = 268435456

# Certificates (PEM) to trust instead of the system's, for a platform with a private authority; the file must be there.
# ca_file = "/etc/ssl/private-ca.pem"

# Send a random number with each request, by which the platform's operator can follow an assignment in traces.
# traceparent = false

# A JSON file that replaces the probes while it exists, for example
# {"charging": "yes", "network": "wifi", "idle": "yes", "temperature_c": 40.0}
# conditions_file = "conditions.json"

# What you ask before this device trains. A federation can ask for more, never for less.
[policy]
# charging = true              # only on mains or charging
# unmetered = true             # only on Wi-Fi or Ethernet that is not metered
# idle = false                 # only while nobody uses the device
# max_temperature_c = 70.0     # hottest at which it trains
# hours = [22, 7]              # local hours [from, to) in which it trains
# unknown = "refuse"           # or "allow": when the device cannot tell

# What this device may have to do with others of its federation; samples never leave it.
[peers]
# tell = "counts"              # of its data: "counts" by class, "rounded" counts, only "classes", or "nothing"
# help_others = true           # send parts of its model to devices that ask for help
# ask = true                   # ask for help when its personal model fails

# Whether this device sums the updates of its neighbours, so that one sum leaves the site instead of many updates. If it
# also meets its peers ([gossip]), it brings sealed calls from those to others that do not reach each other.
[relay]
# serve = false                # offer to be a supernode
# address = ""                 # that neighbours reach it by; blank: its own on this network
# port = 8717
# members = 32                 # neighbours at once at most
# max_load = 8.0               # processes waiting for each core, beyond which neighbours are sent elsewhere

# In what this device may be counted when the platform asks its fleet. Answers are summed under masks, so that nobody
# reads one device's: "classes" (samples of each class), "samples" (how many), "speed" (of steps and uploads),
# "hardware", "conditions" (charging, network, temperature), "problems" (why it does not train, how assignments ended).
[questions]
# answer = []                  # for example ["classes", "hardware"]
# without_noise = false        # also where the sum is exact
# min_devices = 10             # together with so many at least

# How often this device asks you what a sample shows, where a program has given it samples without labels. It asks on
# its page (coterie-agent page), about the sample that the model is least certain of.
[labels]
# per_day = 3                  # questions a day at most; 0: none
# how = "margin"               # least certain: the two likeliest classes are close; or "entropy": all are
# quiet = [21, 8]              # local hours [from, to) without questions; [0, 0]: none

# How much all federations together may learn of this device under noise, as it counts itself; lower is stricter.
[privacy]
# epsilon = 8.0
# delta = 1e-6
# raised = "accept"            # when a federation's own budget is raised: go on within this one, or "ask" you before

# What happens when a plan has more leave this device than you agreed to when it joined: updates that the platform can
# read and could not before, or parts of the model for devices that ask for help. The device takes no part before you
# have agreed (coterie-agent agree, or your page); "accept" agrees to whatever plans ask, and writes it down.
[consent]
# more = "ask"

# Whether this device averages its model with those of its peers, where a plan says so (topology gossip). They read it.
[gossip]
# meet = false
# address = ""                 # that peers reach it by; blank: its own on this network
# port = 8718

# Whether this device meets others by direct paths, through the routers between them, where the platform has something
# go from one to the other. They learn this device's addresses. Needs coterie-agent[p2p].
[direct]
# connect = false

# Whether this device finds others while the platform is away, and is found by them. Devices of the same platform can
# then learn its addresses of [gossip] and [relay]; on the local network whoever is there hears a public key and a port.
[discovery]
# mode = "off"                 # or "find": look for others; or "announce": also be found
# local_network = false        # by multicast DNS, too; needs coterie-agent[mdns]

# Whether your page (coterie-agent page) is also for your phone, on this device's own network, over TLS. A phone is let
# in by a link that is good once, and can then do what you can on the page. Needs coterie-agent[page].
[page]
# on_network = false
# address = ""                 # that phones reach it by, or a name (raspberrypi.local); blank: its own on this network
# port = 8719
# show_samples = false         # also ask on the phone what a sample shows: those samples LEAVE the device for the phone

# Predictions for programs on this device, by `coterie-agent serve`: on 127.0.0.1 and a Unix socket (see serve.json).
[serving]
# port = 0                     # a free one
# socket = "serve.sock"        # blank: none
# deadline_ms = 1000.0         # within which an answer must come, where a request does not say; if this is not set
                               # either, 5000 where [platform] lets samples go and no last answer could stand in
# fallback = "last_answer"     # at the deadline: the last answer of the request's stream, or "none"
# queue = 1024                 # samples that may wait; what finds so many is refused
# batch = 32                   # samples of one run of the model
# connections = 64
# threads = 1                  # processor threads of one run
# run_ms = 10.0                # a smaller form of the model predicts where the version itself takes longer here

# Whether samples of programs may LEAVE this device: those that its own model does not answer in time, or cannot, go to
# the platform, whose model answers them, where the federation's plan says so. The platform keeps none of them.
[platform]
# send_samples = false
# after_ms = 500.0             # for which the model on the device is waited for first

# Whether the platform may replace this agent by a newer release of it, signed with the keys that this device pinned
# when it joined. A release that does not work here is gone back from by itself.
[updates]
# take = "ask"                 # those you agree to (coterie-agent updates --allow VERSION); or "on": all; "off": none
# hours = [2, 5]               # local hours [from, to) in which it is replaced; any, where this is not set

# Whether an operator of the platform may have the log that this agent writes, when he asks for it: the lines of the
# last hours, without secrets, samples and paths. With "never" no log is kept on this device either.
[logs]
# send = "ask"                 # what you allow (your page, or coterie-agent logs --allow); "always"; or "never"
"""
