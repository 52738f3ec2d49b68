"""Linux Landlock: this process and its children can open only the given files from now on.

Kernel documentation, userspace-api/landlock. Rights that a kernel does not know yet are omitted; without Landlock
nothing is restricted, and the caller reports it.
"""

import ctypes
import os
import stat
import sys
from collections.abc import Iterable
from pathlib import Path

from coterie.child.files import Files

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls, by their numbers on all architectures."""
VERSION = 1
PATH_BENEATH = 1

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = (1 << bit for bit in range(4))
CHANGE_DIR = sum(1 << bit for bit in range(4, 13))
"""Remove and create entries of any kind."""
REFER, TRUNCATE, IOCTL_DEV = (1 << bit for bit in range(13, 16))
READ = READ_FILE | READ_DIR
WRITE = READ | WRITE_FILE | CHANGE_DIR | REFER | TRUNCATE
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
SINCE = {1: EXECUTE | READ | WRITE_FILE | CHANGE_DIR, 2: REFER, 3: TRUNCATE, 5: IOCTL_DEV}
"""Rights by the version that introduced them."""
ABSTRACT_SOCKETS, SIGNALS = 1, 2
SCOPES_SINCE = 6

SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store")
"""Programs and libraries."""
FACTS = (
    "/proc",  # of other processes only public information: Landlock forbids tracing them
    "/sys",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/passwd",
    "/etc/group",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/ssl/openssl.cnf",
)
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
ACCELERATORS = ("nvidia*", "dri", "kfd")


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scoped", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _fields_ = (("allowed", ctypes.c_uint64), ("descriptor", ctypes.c_int32))


def version() -> int:
    """The kernel's version of Landlock; 0: none, or it is disabled."""
    if sys.platform != "linux":
        return 0
    found: int = ctypes.CDLL(None).syscall(CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(VERSION))
    return max(0, found)


def restrict_files(files: Files, *, own: str, devices: Path = Path("/dev")) -> bool:
    """Open nothing from now on but `files`, the system's, Python's, those in `own`, and GPUs among `devices`.

    Where the kernel supports it, the process cannot signal processes other than its children. It must have given up new
    privileges. False: the system does not allow it, and nothing is restricted.
    """
    known = version()
    if known == 0:
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    accelerators = [str(path) for name in ACCELERATORS for path in devices.glob(name)]
    handled = sum(rights for since, rights in SINCE.items() if since <= known)
    scoped = ABSTRACT_SOCKETS | SIGNALS if known >= SCOPES_SINCE else 0
    attributes = _Ruleset(handled, 0, scoped)
    size = ctypes.sizeof(attributes) if scoped else 8  # older kernels know the first field only
    ruleset = libc.syscall(CREATE_RULESET, ctypes.byref(attributes), ctypes.c_size_t(size), ctypes.c_uint32(0))
    if ruleset < 0:
        return False
    try:
        for paths, rights in (
            ((*SYSTEM, sys.prefix, sys.base_prefix, sys.base_exec_prefix), READ | EXECUTE),
            ((*FACTS, *files.read), READ),
            (files.listed, READ_DIR),
            ((own, *files.written), WRITE),
            (DEVICES, READ | WRITE_FILE),
            (accelerators, READ | WRITE_FILE | IOCTL_DEV),
            (_names_of_threads() if accelerators else (), WRITE_FILE),
        ):
            _allow(libc, ruleset, paths, rights & handled)
        return bool(libc.syscall(RESTRICT_SELF, ruleset, ctypes.c_uint32(0)) == 0)
    finally:
        os.close(ruleset)


def _allow(libc: ctypes.CDLL, ruleset: int, paths: Iterable[str], rights: int) -> None:
    """Allow existing paths; one that does not exist yet is in an allowed directory. Raises OSError."""
    for path in paths:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            is_directory = stat.S_ISDIR(os.fstat(descriptor).st_mode)
            rule = _PathBeneath(rights if is_directory else rights & OF_FILES, descriptor)
            if libc.syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), ctypes.c_uint32(0)):
                raise OSError(ctypes.get_errno(), "landlock_add_rule", path)
        finally:
            os.close(descriptor)


def _names_of_threads() -> tuple[str, ...]:
    """Where CUDA writes the names of its threads, /proc/PID/task/TID/comm: otherwise it fails at start (error 304).

    A process without root may write there in all processes, so that those of its children can: the system protects
    others' files. Root could change the kernel's settings in /proc/sys, and gets its own threads only.
    """
    return ("/proc",) if os.geteuid() else ("/proc/self/task",)
