"""How a child process confines itself before it starts its job: limits, no network, no files of others."""

import ctypes
import fcntl
import os
import resource
import signal
import socket
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from coterie.child import landlock, seccomp
from coterie.child.job import Start

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
CLONE_NEWUSER = 0x10000000
CLONE_NEWNET = 0x40000000
CAPABILITY_VERSION_3 = 0x20080522
SIOCSIFFLAGS = 0x8914
IFF_UP = 1
LOOPBACK = b"lo"
PARENT_DIED = 113

OWN_NETWORK = (socket.AF_INET, socket.AF_INET6, 16)
"""The families of sockets that reach nobody from a separate network; 16: netlink, which names its interfaces."""
NO_CUT = "being cut off from the network"
NO_FILTER = "being kept from other programs' sockets"
NO_FENCE = "being kept from the platform's other files"


def never_confined() -> tuple[str, ...]:
    """The confinements that this system does not support, as in "it runs without …"; `try_confinement` finds
    further ones.
    """
    if sys.platform != "linux":
        return (NO_CUT, NO_FENCE)
    return (
        *(() if landlock.version() else (NO_FENCE,)),
        *(() if seccomp.is_supported() else (NO_FILTER,)),
    )


def confine(start: Start) -> tuple[str, ...]:
    """Apply the limits of `start` to this process; called while there is a single thread.

    Returns what the system did not allow, as in "it ran without …"; empty: everything was applied.
    """
    missing: list[str] = []
    if sys.platform == "linux":
        libc = ctypes.CDLL(None, use_errno=True)
        is_cut = start.files is not None and not start.network and cut_off(libc.unshare)
        if is_cut:
            raise_loopback()
        if start.files is not None:
            give_up_capabilities(libc)
        # After the namespaces: a change of credentials clears it.
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        if start.files is not None and not landlock.restrict_files(start.files, own=str(Path.cwd())):
            missing.append(NO_FENCE)
        if start.files is not None:
            missing += close_sockets(libc, is_cut=is_cut or start.network, loopback=start.loopback)
    elif start.files is not None:
        missing += never_confined()
    if os.getppid() != start.parent_pid:
        os._exit(PARENT_DIED)
    _lower(resource.RLIMIT_CORE, 0)
    _lower(
        resource.RLIMIT_CPU, start.cpu_s, hard_extra=1
    )  # The soft limit's signal says what happened, the hard one only kills.
    _lower(resource.RLIMIT_FSIZE, start.file_bytes)
    _lower(resource.RLIMIT_DATA, start.memory_bytes)
    return tuple(missing)


def close_sockets(libc: ctypes.CDLL, *, is_cut: bool, loopback: bool) -> Sequence[str]:
    """Open no socket from now on that reaches anybody; returns what was not allowed, as in "it ran without …".

    Where the process could not leave the network it opens no sockets at all, unless it needs `loopback`.
    """
    if is_cut:
        return () if seccomp.restrict_sockets(libc, allowed=OWN_NETWORK) else (NO_FILTER,)
    return () if not loopback and seccomp.restrict_sockets(libc, allowed=()) else (NO_CUT,)


def cut_off(unshare: Callable[[int], int]) -> bool:
    """Leave every network by the system call `unshare`. False: containers may forbid it."""
    # Without root it needs a user namespace.
    return unshare(CLONE_NEWNET) == 0 or unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0


def raise_loopback() -> None:
    """Let this process and its children communicate, by an interface that no other process can reach. netdevice(7)."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh", LOOPBACK, IFF_UP))


def give_up_capabilities(libc: ctypes.CDLL) -> None:
    """Drop all capabilities, also where root runs the platform: tracing others gives access to their memory.
    capset(2).
    """
    header = (ctypes.c_uint32 * 2)(CAPABILITY_VERSION_3, 0)
    none = (ctypes.c_uint32 * 6)()  # effective, permitted and inheritable, of 64 bits each
    if libc.capset(header, none):
        raise OSError(ctypes.get_errno(), "capset")


def die_with_parent(parent: int) -> None:
    """End this process as soon as `parent`, the descriptor of a pipe that the parent holds open, ends."""

    def watch() -> None:
        while os.read(parent, 1):  # Unbuffered: a lock held here would delay our own exit.
            pass
        os._exit(PARENT_DIED)

    threading.Thread(target=watch, name="parent-watch", daemon=True).start()


def _lower(limit: int, value: int, *, hard_extra: int = 0) -> None:
    _, allowed = resource.getrlimit(limit)
    ceiling = sys.maxsize if allowed == resource.RLIM_INFINITY else allowed
    resource.setrlimit(limit, (min(value, ceiling), min(value + hard_extra, ceiling)))
