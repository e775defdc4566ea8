"""A guest's process from outside: its pipes, its clock, its end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field

from mudroom.errors import Code, GuestFailed
from mudroom.jail.cgroups import GuestCgroup
from mudroom.jail.users import SlotUsers

__all__ = ["GuestProcess"]

_MAX_TOLD_BYTES = 64 * 1024
_MAX_LINE_CHARS = 300
_LONGEST_WAIT_SECONDS = 4.0
_LONGEST_PAUSE_SECONDS = 0.05
_CHILD = re.compile(rb'"child-pid": (\d+)\s*[,}]')


@dataclass(slots=True, kw_only=True)
class GuestProcess:
    """A started guest: its pipes, which do not block, and its end."""

    popen: subprocess.Popen[bytes]
    requests_fd: int
    answers_fd: int
    stderr_fd: int
    info_fd: int | None
    """A file without a name in which bwrap says which process it made."""
    cgroup: GuestCgroup | None
    uid: int | None
    users: SlotUsers | None
    host_pid: int | None = None
    """The interpreter's own process as seen from here; known when the guest is ready."""
    _ended: bool = field(default=False)
    _child_fd: int | None = field(default=None)

    def settle(self) -> None:
        """Notes which process is the interpreter, and puts it under its caps. Call when it is ready.

        Raises: GuestFailed(JAIL_UNAVAILABLE) where bwrap did not tell.
        """
        if self.info_fd is None:
            self.host_pid = self.popen.pid
            return
        self._hear_of_child()
        if self.host_pid is None:
            raise GuestFailed(Code.JAIL_UNAVAILABLE, "bwrap did not name its child")
        if self.cgroup is not None:
            self.cgroup.add(self.host_pid)

    def cpu_seconds(self) -> float:
        """Processor time that the interpreter has used; 0 once it is gone."""
        if self.host_pid is None:
            return 0.0
        try:
            # The clock of another process: CPUCLOCK_SCHED, see clock_getcpuclockid(3).
            return time.clock_gettime(~self.host_pid << 3 | 2)
        except OSError:
            return 0.0

    def read_stderr(self) -> str:
        """The last line that the guest said before it was locked: of a traceback, what was raised."""
        lines = self._read_some(self.stderr_fd).decode(errors="replace").strip().splitlines()
        return lines[-1][:_MAX_LINE_CHARS] if lines else ""

    def kill(self) -> None:
        """Ends the guest now. What it held of ours is closed; `clean` waits for its end.

        A bwrap that has not named its child yet is left to `clean`: killed between making the child and
        letting it go on, it would leave it waiting for ever.
        """
        if not self._ended:
            self._ended = True
            for fd in (self.requests_fd, self.answers_fd, self.stderr_fd):
                os.close(fd)
            if self.info_fd is None or self.host_pid is not None:
                self._kill_guest()

    async def await_end(self, patience_seconds: float) -> int | None:
        """The exit status, if the process ends by itself in time; a signal is negative, bwrap's 128 + n too."""
        wait, waited = 0.001, 0.0
        while self.popen.poll() is None:
            if waited > patience_seconds:
                return None
            await asyncio.sleep(wait)
            waited += wait
            wait = min(1.5 * wait, _LONGEST_PAUSE_SECONDS)
        status = self.popen.returncode
        return 128 - status if status > 128 else status  # noqa: PLR2004 - the shell's convention

    async def clean(self) -> None:
        """Nothing of the guest is left: process, descriptor, group, user."""
        self.kill()
        wait = 0.001
        while self.host_pid is None and self.info_fd is not None and wait < _LONGEST_WAIT_SECONDS:
            if self._hear_of_child() or self.popen.poll() is not None:
                break
            await asyncio.sleep(wait)
            wait *= 2
        self._kill_guest()
        if self.info_fd is not None:
            os.close(self.info_fd)
            self.info_fd = None
        if await self.await_end(_LONGEST_WAIT_SECONDS) is None:
            self.popen.kill()
            await self.await_end(_LONGEST_WAIT_SECONDS)
        wait = 0.001
        while self.cgroup is not None and not self.cgroup.remove() and wait < _LONGEST_WAIT_SECONDS:
            self.cgroup.kill()
            await asyncio.sleep(wait)
            wait *= 2
        if self.users is not None and self.uid is not None:
            self.users.give_back(self.uid)
            self.uid = None

    def _kill_guest(self) -> None:
        """Ends the interpreter. A bwrap around it then ends by itself, and leaves no orphan to anyone."""
        if self._child_fd is not None:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._child_fd, signal.SIGKILL)
            os.close(self._child_fd)
            self._child_fd = None
        elif self.host_pid is None or self.host_pid == self.popen.pid:
            self.popen.kill()

    def _hear_of_child(self) -> bool:
        """Whether bwrap has named its child, the interpreter."""
        if self.info_fd is not None and self.host_pid is None:
            match = _CHILD.search(os.pread(self.info_fd, _MAX_TOLD_BYTES, 0))
            if match is not None:
                self.host_pid = int(match[1])
                # It may be gone already; its number must not be taken for another's later.
                with contextlib.suppress(ProcessLookupError):
                    self._child_fd = os.pidfd_open(self.host_pid)
        return self.host_pid is not None

    def _read_some(self, fd: int) -> bytes:
        try:
            return os.read(fd, _MAX_TOLD_BYTES)
        except BlockingIOError:
            return b""
