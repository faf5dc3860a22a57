"""Confines its own process, then executes a command: `python confine.py SPEC COMMAND…`, if bubblewrap is missing.

Landlock (Linux 5.13) denies every file that the spec does not name, seccomp denies sockets and other ways to reach the
kernel and other processes, no-new-privileges stays set, and root becomes a user without privileges. It imports nothing
of this package. If a step fails, it exits with `NOT_CONFINED`: it never runs a command unconfined.

The spec is JSON: `read` and `write` are lists of paths, `parent` is the process that started it.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import signal
import stat
import struct
import sys

NOT_CONFINED = 125
NOBODY = 65534
DAC_READ_SEARCH = 2
LAST_CAPABILITY = 63

PR_SET_PDEATHSIG, PR_SET_KEEPCAPS, PR_SET_SECCOMP, PR_CAPBSET_DROP = 1, 8, 22, 24
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE = 38, 47, 2
CAPABILITY_VERSION = 0x20080522

CREATE_RULESET, ADD_RULE, RESTRICT_SELF = 444, 445, 446
"""System calls; the numbers are the same on every architecture."""
PATH_BENEATH = 1
EXECUTE, WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
FIRST_RIGHTS = (1 << 13) - 1
"""All rights of Landlock's first version; later versions add more."""
ADDED_RIGHTS = {2: 1 << 13, 3: TRUNCATE, 5: IOCTL}
OF_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL
NETWORK_SINCE, SCOPES_SINCE = 4, 6

ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 1, 0x80000000
X32 = 0x40000000
FORBIDDEN = {
    "x86_64": (0xC000003E, (41, 101, 250, 272, 308, 310, 311, 321, 323, 425)),
    "aarch64": (0xC00000B7, (198, 117, 219, 97, 268, 270, 271, 280, 282, 425)),
}
"""socket, ptrace, keyctl, unshare, setns, process_vm_readv and _writev, bpf, userfaultfd and io_uring_setup."""

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    spec, *command = sys.argv[1:]
    try:
        confine(json.loads(spec))
    except OSError as error:
        sys.stderr.write(f"landlock: {error}\n")
        sys.exit(NOT_CONFINED)
    for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit that
        signal.signal(ignored, signal.SIG_DFL)
    os.execv(command[0], command)  # noqa: S606 - its purpose


def confine(spec: dict[str, object]) -> None:
    """Drop every right that the command does not need, for good."""
    read, write = (_paths(spec, name) for name in ("read", "write"))
    if os.geteuid() == 0:
        _become_nobody(write)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # cleared by the change of user
    if os.getppid() != spec["parent"]:
        sys.exit("the parent process is gone")
    _landlock(read, write)
    _seccomp()


def _paths(spec: dict[str, object], name: str) -> list[str]:
    paths = spec[name]
    return [str(path) for path in paths] if isinstance(paths, list) else []


def _become_nobody(folders: list[str]) -> None:
    """Become the user nobody, who keeps the privilege to read files of other users; Landlock limits which.

    In a namespace that maps root alone there is no such user, and only privileges are dropped.
    """
    for folder in folders:
        os.chown(folder, NOBODY, NOBODY)
    for number in range(LAST_CAPABILITY + 1):
        if number != DAC_READ_SEARCH:
            libc.prctl(PR_CAPBSET_DROP, number, 0, 0, 0)
    _prctl(PR_SET_KEEPCAPS, 1)
    try:
        os.setgroups([])
        os.setresgid(NOBODY, NOBODY, NOBODY)
        os.setresuid(NOBODY, NOBODY, NOBODY)
    except OSError:
        for folder in folders:
            os.chown(folder, 0, 0)
    kept = 1 << DAC_READ_SEARCH
    header = struct.pack("Ii", CAPABILITY_VERSION, 0)
    if libc.capset(header, struct.pack("6I", kept, kept, kept, 0, 0, 0)):
        raise _error("capset")
    _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, DAC_READ_SEARCH)


def landlock_version() -> int:
    """Return the version of Landlock in this kernel; 0 if it has none."""
    return max(0, int(libc.syscall(CREATE_RULESET, None, ctypes.c_size_t(0), 1)))


def _landlock(read: list[str], write: list[str]) -> None:
    version = landlock_version()
    if not version:
        raise OSError("this kernel has no Landlock")
    handled = FIRST_RIGHTS
    for since, right in ADDED_RIGHTS.items():
        handled |= right if version >= since else 0
    fields = [handled]
    if version >= NETWORK_SINCE:
        fields.append(0b11)
    if version >= SCOPES_SINCE:
        fields.append(0b11)
    ruleset = struct.pack(f"{len(fields)}Q", *fields)
    rules = libc.syscall(CREATE_RULESET, ruleset, ctypes.c_size_t(len(ruleset)), 0)
    if rules < 0:
        raise _error("landlock_create_ruleset")
    for path in read:
        _allow(rules, path, handled & (EXECUTE | READ_FILE | READ_DIR))
    for path in ("/dev/null", "/dev/zero", "/dev/urandom"):
        _allow(rules, path, handled & (READ_FILE | WRITE_FILE | TRUNCATE))
    for path in write:
        _allow(rules, path, handled & ~(1 << 6 | 1 << 11 | EXECUTE | IOCTL))  # no devices, no programs
    if libc.syscall(RESTRICT_SELF, rules, 0):
        raise _error("landlock_restrict_self")
    os.close(rules)


def _allow(rules: int, path: str, rights: int) -> None:
    """Add a rule for a path, if it exists."""
    try:
        opened = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not stat.S_ISDIR(os.fstat(opened).st_mode):
            rights &= OF_FILES
        if libc.syscall(ADD_RULE, rules, PATH_BENEATH, struct.pack("=Qi", rights, opened), 0):
            raise _error(f"landlock_add_rule {path}")
    finally:
        os.close(opened)


def _seccomp() -> None:
    """Deny system calls that no media tool needs; on other architectures than these two Landlock works alone."""
    known = FORBIDDEN.get(platform.machine())
    if known is None or struct.calcsize("P") != 8:  # noqa: PLR2004 - a 32-bit program has other numbers
        return
    architecture, numbers = known
    program = [(0x20, 0, 0, 4), (0x15, 1, 0, architecture), (0x06, 0, 0, KILL), (0x20, 0, 0, 0)]
    program += [(0x35, 0, 1, X32), (0x06, 0, 0, REFUSE)]
    for number in numbers:
        program += [(0x15, 0, 1, number), (0x06, 0, 0, REFUSE)]
    program.append((0x06, 0, 0, ALLOW))
    code = b"".join(struct.pack("HBBI", *line) for line in program)
    held = ctypes.create_string_buffer(code, len(code))
    filters = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(program), ctypes.addressof(held)))
    _prctl(PR_SET_SECCOMP, 2, ctypes.addressof(filters))


def _prctl(option: int, *values: int) -> None:
    arguments = [ctypes.c_ulong(value) for value in (*values, 0, 0, 0, 0)[:4]]
    if libc.prctl(option, *arguments):
        raise _error(f"prctl {option}")


def _error(call: str) -> OSError:
    number = ctypes.get_errno()
    return OSError(number, f"{call}: {os.strerror(number)}")


if __name__ == "__main__":
    main()
