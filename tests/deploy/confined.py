"""Runs a command under the system call filter of a unit: `python confined.py FILTER COMMAND…`.

FILTER is JSON: `calls`, the names that are allowed, and `families`, the address families of sockets. Everything else
fails with EPERM, as the kernel makes it fail for a unit of systemd. Root becomes a user without privileges first.
"""

import ctypes
import json
import os
import sys
from pathlib import Path

CLONE_NEWUSER = 0x10000000
USER = 1000
ALLOW, REFUSE = 0x7FFF0000, 0x00050000 | 1
EQUAL = 4


class Comparison(ctypes.Structure):
    """`struct scmp_arg_cmp` of libseccomp."""

    _fields_ = (
        ("argument", ctypes.c_uint),
        ("operator", ctypes.c_int),
        ("first", ctypes.c_uint64),
        ("second", ctypes.c_uint64),
    )


def main() -> None:
    wanted, *command = sys.argv[1:]
    if os.geteuid() == 0:
        drop_root()
    confine(**json.loads(wanted))
    os.execvp(command[0], command)  # noqa: S606 - its purpose


def drop_root() -> None:
    """Enter a user namespace in which root is an ordinary user, who keeps access to the files of root."""
    owner = os.getegid()
    assert ctypes.CDLL(None).unshare(CLONE_NEWUSER) == 0
    Path("/proc/self/uid_map").write_text(f"{USER} 0 1\n")
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/gid_map").write_text(f"{USER} {owner} 1\n")


def confine(calls: list[str], families: list[int]) -> None:
    library = ctypes.CDLL("libseccomp.so.2")
    library.seccomp_init.restype = ctypes.c_void_p
    library.seccomp_rule_add_array.argtypes = (
        ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_uint, ctypes.POINTER(Comparison),
    )  # fmt: skip
    library.seccomp_load.argtypes = (ctypes.c_void_p,)
    chosen = library.seccomp_init(REFUSE)
    for name in calls:
        number = library.seccomp_syscall_resolve_name(name.encode())
        if number < 0 or name == "socket":  # calls of other architectures have negative numbers
            continue
        assert library.seccomp_rule_add_array(chosen, ALLOW, number, 0, None) == 0, name
    socket = library.seccomp_syscall_resolve_name(b"socket")
    for family in families:
        equal = Comparison(0, EQUAL, family, 0)
        assert library.seccomp_rule_add_array(chosen, ALLOW, socket, 1, ctypes.byref(equal)) == 0
    assert library.seccomp_load(chosen) == 0


if __name__ == "__main__":
    main()
