"""Linux seccomp: this process and its children can open sockets of some families only, from now on.

seccomp(2), and the kernel documentation, userspace-api/seccomp_filter. It needs no root and no namespaces, which many
containers and some distributions forbid. `io_uring` is blocked with the sockets: it can open them past the filter.
"""

import ctypes
import errno
import platform
import struct
import sys
from collections.abc import Collection
from typing import NamedTuple

PR_SET_SECCOMP = 22
MODE_FILTER = 2
IO_URING_SETUP = 425
"""By its number on all architectures."""
X32 = 0x40000000
"""From this number on an x86-64 process uses the numbers of another interface."""

LOAD, JUMP_EQUAL, JUMP_LEAST, RETURN = 0x20, 0x15, 0x35, 0x06
"""Classic BPF: load a word, jump where it is the same, jump where it is no less, end."""
NUMBER_AT, MACHINE_AT, FIRST_ARGUMENT_AT = 0, 4, 16
"""In `struct seccomp_data`, of little-endian machines."""
KILL, REFUSE, ALLOW = 0x80000000, 0x00050000 | errno.EACCES, 0x7FFF0000


class Machine(NamedTuple):
    """The kernel's name of an architecture, and the number of `socket` there."""

    audit: int
    socket: int


MACHINES = {"x86_64": Machine(0xC000003E, 41), "aarch64": Machine(0xC00000B7, 198)}


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p))


def is_supported() -> bool:
    """Whether there is a filter for this architecture."""
    return sys.platform == "linux" and platform.machine() in MACHINES


def restrict_sockets(libc: ctypes.CDLL, *, allowed: Collection[int]) -> bool:
    """Refuse every `socket` except of the families `allowed` (EACCES). The process must have given up new privileges.

    Pairs of connected sockets are created by another call, and remain allowed. False: the system does not allow it, and
    nothing is restricted.
    """
    if not is_supported():
        return False
    content = ctypes.create_string_buffer(_filter(MACHINES[platform.machine()], sorted(allowed)))
    instructions = (len(content) - 1) // 8
    program = _Program(instructions, ctypes.addressof(content))
    return bool(libc.prctl(PR_SET_SECCOMP, MODE_FILTER, ctypes.byref(program), 0, 0) == 0)


def _filter(machine: Machine, allowed: list[int]) -> bytes:
    """Instructions of eight bytes: code, jump offsets if true and if false, and a number."""
    refuse_socket = [(JUMP_EQUAL, len(allowed) - place, 0, family) for place, family in enumerate(allowed)]
    found = [
        (LOAD, 0, 0, MACHINE_AT),
        (JUMP_EQUAL, 1, 0, machine.audit),
        (RETURN, 0, 0, KILL),
        (LOAD, 0, 0, NUMBER_AT),
        (JUMP_LEAST, 0, 1, X32),
        (RETURN, 0, 0, REFUSE),
        (JUMP_EQUAL, 0, 1, IO_URING_SETUP),
        (RETURN, 0, 0, REFUSE),
        (JUMP_EQUAL, 1, 0, machine.socket),
        (RETURN, 0, 0, ALLOW),
        (LOAD, 0, 0, FIRST_ARGUMENT_AT),
        *refuse_socket,
        (RETURN, 0, 0, REFUSE),
        (RETURN, 0, 0, ALLOW),
    ]
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in found)
