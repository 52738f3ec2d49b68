"""How much of the platform one connection, one address and one device may use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Bounds of one server process; not settings: for others, run a proxy in front or more processes."""

    head_bytes: int = 32 << 10
    """Request line and headers together; also of what a chunked body has beside its content."""
    url_bytes: int = 8 << 10
    header_fields: int = 100
    head_s: float = 10.0
    """From the first byte of a head, or the connection, to the head's end."""
    pipelined: int = 16
    """Requests that may wait behind one that is being answered; browsers, proxies and agents send none."""
    body_bytes: int = 64 << 10
    """Of a body whose sender has not authenticated."""
    body_silence_s: float = 20.0
    """Longest gap in a body: a device that lost its network leaves a connection that never ends by itself."""
    least_bytes_per_s: int = 1024
    """What a body or an answer moves on average after `patience_s`; slower ones break off and resume where they can."""
    patience_s: float = 60.0
    linger_s: float = 5.0
    """How long the rest of a refused body is read and dropped, so that its sender gets to read the refusal."""
    linger_bytes: int = 8 << 20
    connections_per_address: int = 256
    """Unauthenticated connections of an address: all but the sockets of devices and consoles."""
    reserved_descriptors: int = 256
    """For files, databases and children, or half of all where there are few; every other may be a connection."""
    socket_frames: int = 64
    """Messages of a socket that wait to be answered."""
    fragments: int = 1024
    """Parts of one message."""
    site_at_once: int = 12
    """Requests of known operators and programs that Django answers at once, each on a thread of its own."""
    site_each: int = 8
    """Of these, for one of them."""
    strangers_at_once: int = 6
    """The same for requests without valid credentials, counted apart: authenticated requests never wait behind them."""
    strangers_each: int = 4
    """Of these, for one address."""
    site_wait_s: float = 10.0
    """How long a request waits for its turn with Django."""
    sockets_per_device: int = 4
    """An old socket whose network went is noticed within a minute; until then it counts."""
    requests_per_device: int = 4
    """Requests of one device that are answered at once; more wait."""
    requests_waiting: int = 16
    """Of one device, with those that are answered: an agent sends two or three at once, and waits for the answers."""
    refusals_share: float = 0.1
    """Of one core: what requests that are refused may take of it in the long run, all senders together."""
    refusals_allowance_s: float = 0.25
    """What one sender may owe of that before its next requests are turned away: some fifty that Django refuses."""
    guesses_per_minute: int = 120
    """Unknown credentials and enrolments from one address."""


LIMITS = Limits()
