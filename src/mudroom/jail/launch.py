"""Which command holds a guest at which level, and how it is started."""

from __future__ import annotations

import contextlib
import fcntl
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from mudroom.errors import Code, GuestFailed
from mudroom.jail.cgroups import Cgroups
from mudroom.jail.furniture import Bwrap, Furniture, choose_furniture, find_bwrap, outermost, system_folders
from mudroom.jail.options import GuestRole
from mudroom.jail.process import GuestProcess
from mudroom.jail.staging import Staging
from mudroom.jail.users import find_users
from mudroom.model import Isolation
from mudroom.syscalls import architecture_of, build_wall_filter

__all__ = ["Launcher"]

_BOOT = (
    "import sys; sys.path[len(sys.path):] = sys.argv.pop(1).split(':'); "
    "from mudroom.guest.__main__ import main; main()"
)
# As large as one page and its answer, so that either crosses in one piece; the system's cap may be lower.
_PIPE_BYTES = 256 * 1024
_NOBODY = 65534


class Launcher:
    """Starts guests at one level. What guests share outside (namespace, users, groups) is made once."""

    def __init__(self, isolation: Isolation, roles: Sequence[GuestRole], max_memory_bytes: int) -> None:
        self.isolation = isolation
        self._max_memory_bytes = max_memory_bytes
        self._furniture = {role: choose_furniture(role) for role in roles}
        self._users = find_users() if isolation is not Isolation.PROCESS else None
        self._cgroups = Cgroups(memory=None, tasks=None, version=0)
        self._staging: Staging | None = None
        self._bwrap: Bwrap | None = None
        self._wall_filter = b""

    def open(self) -> None:
        """Makes ready what all guests share. Raises GuestFailed(JAIL_UNAVAILABLE)."""
        if self.isolation is Isolation.PROCESS:
            return
        architecture = architecture_of(os.uname().machine)
        if os.uname().sysname != "Linux" or architecture is None:
            raise GuestFailed(
                Code.JAIL_UNAVAILABLE, f"the level {self.isolation} is for Linux on x86_64 and aarch64"
            )
        self._cgroups = Cgroups.find()
        if self.isolation is Isolation.STRICT:
            self._wall_filter = build_wall_filter(architecture)
            self._bwrap = find_bwrap()
            if self._bwrap is None:
                raise GuestFailed(Code.JAIL_UNAVAILABLE, "the program bwrap (bubblewrap) is not installed")
            if self._users is None and os.geteuid() == 0:
                raise GuestFailed(
                    Code.JAIL_UNAVAILABLE,
                    "bwrap is never run as root, and this root cannot become another user",
                )
            if self._users is not None:
                shown = [path for room in self._furniture.values() for path in room.shown]
                own = [] if self._bwrap.folder is None else [self._bwrap.folder]
                self._staging = Staging.open(outermost(own + shown))

    @property
    def held(self) -> tuple[str, ...]:
        """The control groups that cap guests, in words."""
        return self._cgroups.held

    @property
    def has_own_users(self) -> bool:
        """Whether each guest runs as a user that belongs to nobody."""
        return self._users is not None

    def start(self, role: GuestRole) -> GuestProcess:
        """A guest that has begun to start; it is not ready yet. Raises GuestFailed(JAIL_UNAVAILABLE)."""
        uid = None if self._users is None else self._users.take()
        with contextlib.ExitStack() as undo:
            if self._users is not None and uid is not None:
                undo.callback(self._users.give_back, uid)
            try:
                guest = self._start(role, uid, undo)
            except OSError as error:  # no descriptor, no process, no memory
                raise GuestFailed(
                    Code.JAIL_UNAVAILABLE, f"a guest could not be started: {error.strerror}"
                ) from error
            undo.pop_all()
        return guest

    def _start(self, role: GuestRole, uid: int | None, undo: contextlib.ExitStack) -> GuestProcess:
        """As `start`; what is taken on the way is noted for undoing. Raises OSError."""
        info_fd: int | None = None
        with contextlib.ExitStack() as ours:
            command = self._guest_command(role, uid)
            passed: list[int] = []
            if self.isolation is Isolation.STRICT:
                # Not a pipe: one without a reader would end bwrap half-way, and leave its child waiting.
                info_fd = _file_of(b"")
                undo.callback(os.close, info_fd)
                filter_fd = _file_of(self._wall_filter)
                ours.callback(os.close, filter_fd)
                passed = [info_fd, filter_fd]
                command = self._walls(role, uid, info_fd, filter_fd) + command
            return self._spawn(command, passed, uid, info_fd, undo)

    def close(self) -> None:
        """Ends what guests shared."""
        if self._staging is not None:
            self._staging.close()
            self._staging = None

    def _guest_command(self, role: GuestRole, uid: int | None) -> list[str]:
        room = self._furniture[role]
        # Behind walls the user was changed on the way in.
        become = uid if self.isolation is Isolation.CONFINED else None
        return [
            *(str(room.interpreter), "-I", "-S", "-B", "-c", _BOOT),
            ":".join(map(str, room.search_path)),
            role.name,
            str(self.isolation),
            "-" if become is None else str(become),
            str(self._max_memory_bytes),
        ]

    def _walls(self, role: GuestRole, uid: int | None, info_fd: int, filter_fd: int) -> list[str]:
        """The bwrap command that builds the room, in a staged view when root starts it."""
        assert self._bwrap is not None  # noqa: S101 - `open` refused otherwise
        staging = self._staging
        enter = staging.entering(uid) if staging is not None and uid is not None else []
        program = self._bwrap.program
        program = program if staging is None else staging.place_of(program)
        return [
            *enter,
            str(program),
            *(
                "--unshare-all",
                "--unshare-user",
                "--new-session",
                "--die-with-parent",
                "--as-pid-1",
                "--clearenv",
            ),
            *("--uid", str(_NOBODY), "--gid", str(_NOBODY), "--hostname", "mudroom"),
            *self._binds(self._furniture[role]),
            *("--dev-bind", "/dev/null", "/dev/null", "--remount-ro", "/", "--chdir", "/"),
            *("--info-fd", str(info_fd), "--seccomp", str(filter_fd), "--"),
        ]

    def _binds(self, room: Furniture) -> list[str]:
        binds: list[str] = []
        for folder in system_folders():
            if folder.is_symlink():
                binds += ("--symlink", str(folder.readlink()), str(folder))
            else:
                binds += ("--ro-bind", str(folder), str(folder))
        if Path("/etc/ld.so.cache").exists():
            binds += ("--ro-bind", "/etc/ld.so.cache", "/etc/ld.so.cache")
        for path in room.shown:
            source = path if self._staging is None else self._staging.place_of(path)
            binds += ("--ro-bind", str(source), str(path))
        return binds

    def _spawn(
        self,
        command: list[str],
        passed: list[int],
        uid: int | None,
        info_fd: int | None,
        undo: contextlib.ExitStack,
    ) -> GuestProcess:
        with contextlib.ExitStack() as theirs:
            requests_out, requests_in = _pipe(out=theirs, into=undo)
            answers_out, answers_in = _pipe(out=undo, into=theirs)
            stderr_out, stderr_in = _pipe(out=undo, into=theirs)
            popen = subprocess.Popen(  # noqa: S603 - a command of our own making
                command,
                stdin=requests_out,
                stdout=answers_in,
                stderr=stderr_in,
                pass_fds=passed,
                env={},
                cwd="/",
                start_new_session=True,
            )
        kept = (requests_in, answers_out, stderr_out)
        for fd in kept:
            os.set_blocking(fd, False)
        for fd in (requests_in, answers_out):
            # The share of a user's pipes may be used up; the default size works too.
            with contextlib.suppress(PermissionError):
                fcntl.fcntl(fd, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        cgroup = self._cgroups.make(self._max_memory_bytes)
        if cgroup is not None:
            cgroup.add(popen.pid)
        return GuestProcess(
            popen=popen,
            requests_fd=requests_in,
            answers_fd=answers_out,
            stderr_fd=stderr_out,
            info_fd=info_fd,
            cgroup=cgroup,
            uid=uid,
            users=self._users,
        )


def _pipe(*, out: contextlib.ExitStack, into: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose two ends are closed by whom they belong to."""
    reading, writing = os.pipe()
    out.callback(os.close, reading)
    into.callback(os.close, writing)
    return reading, writing


def _file_of(data: bytes) -> int:
    """A descriptor of an unnamed file that holds `data`, at its beginning."""
    fd = os.memfd_create("mudroom", os.MFD_CLOEXEC)
    os.write(fd, data)
    os.lseek(fd, 0, os.SEEK_SET)
    return fd
