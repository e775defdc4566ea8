"""One guest as its keeper sees it: started, asked, timed, and ended at the first breach."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from typing import TypeVar

from mudroom.errors import Code, ContentRefused, GuestFailed
from mudroom.jail.channel import Answer, GuestChannel, GuestGoneError
from mudroom.jail.launch import Launcher
from mudroom.jail.options import GuestRole, JailOptions
from mudroom.jail.process import GuestProcess
from mudroom.model import Isolation
from mudroom.wire import FrameKind, GuestHello, GuestReady, decode_failure, decode_ready, encode_hello, refuse

__all__ = ["Inmate", "SiteKey", "judge_lock"]

T = TypeVar("T")
SiteKey = tuple[str, str]
"""Run and site: all that one guest ever serves."""
_MAX_READY_BYTES = 256
_CONTENT_CODES = frozenset({Code.EXTRACTION_FAILED, Code.EXTRACTION_LIMIT, Code.UNSUPPORTED_CONTENT_TYPE})
_LEAST_CPU_WAIT_SECONDS = 0.05
_POST_MORTEM_SECONDS = 1.0


class Inmate:
    """A guest that is ready. It serves one key; `is_fit` is False once it must be replaced."""

    def __init__(self, process: GuestProcess, channel: GuestChannel, options: JailOptions) -> None:
        self._process = process
        self._channel = channel
        self._options = options
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._is_killed = False
        self.key: SiteKey | None = None
        self.is_busy = False
        self.last_used = 0.0
        self.ready = GuestReady(landlock_abi=0, has_seccomp=False, uid=0, escapes=0)
        """What it found of its lock; nothing holds until it said so."""

    @classmethod
    async def start(cls, launcher: Launcher, role: GuestRole, options: JailOptions) -> Inmate:
        """A guest that is warm and locked at the launcher's level, its lock tried.

        Raises: GuestFailed(JAIL_UNAVAILABLE), with what the guest said of it; nothing is left then.
        """
        process = launcher.start(role)
        inmate = cls(process, GuestChannel(process.requests_fd, process.answers_fd), options)
        try:
            async with asyncio.timeout(options.start_timeout_seconds):
                await inmate._greet(role)
            judge_lock(inmate.ready, launcher.isolation)
            process.settle()
        except (GuestFailed, GuestGoneError, TimeoutError) as error:
            said = process.read_stderr() or _describe(error)
            await inmate.clean()
            raise GuestFailed(
                Code.JAIL_UNAVAILABLE,
                f"a guest for {role.name} did not start at {launcher.isolation}: {said}",
            ) from error
        except BaseException:
            await inmate.clean()
            raise
        return inmate

    @property
    def is_fit(self) -> bool:
        """Whether it can be asked (again)."""
        return not self._is_killed and self._channel.breach is None

    async def ask(
        self,
        kind: FrameKind,
        payload: bytes,
        expected: FrameKind,
        decode: Callable[[memoryview], T],
    ) -> T:
        """The decoded answer to one request, within the options' bounds.

        Raises: ContentRefused or GuestFailed as the guest said, by code; GuestFailed with GUEST_TIMEOUT,
        GUEST_MEMORY, GUEST_CRASHED or GUEST_PROTOCOL when it broke a bound. It is dead after these.
        """
        self._start_timer()
        try:
            answer = await self._channel.ask(kind, payload, self._options.answer.max_answer_bytes)
            if answer.kind is expected:
                return decode(answer.untrusted_payload)
            raise self._failure_of(answer)
        except GuestGoneError:
            raise await self._post_mortem() from None
        except GuestFailed as failure:
            if failure.code is not Code.SCANNER_FAILURE:
                self.kill()
            raise
        except asyncio.CancelledError:
            self.kill()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()
                self._timer = None

    async def _greet(self, role: GuestRole) -> None:
        hello = GuestHello(max_answer_bytes=self._options.answer.max_answer_bytes, settings=role.settings)
        answer = await self._channel.ask(FrameKind.HELLO, encode_hello(hello), _MAX_READY_BYTES)
        if answer.kind is not FrameKind.READY:
            raise refuse("something other than ready")
        self.ready = decode_ready(answer.untrusted_payload)

    def kill(self) -> None:
        """Ends it at once."""
        if not self._is_killed:
            self._is_killed = True
            self._channel.close()
            self._process.kill()

    async def clean(self) -> None:
        """Ends it and leaves nothing of it."""
        self.kill()
        await self._process.clean()

    def _failure_of(self, answer: Answer) -> ContentRefused | GuestFailed:
        if answer.kind is not FrameKind.FAILURE:
            return refuse(f"an answer of kind {answer.kind.name}")
        code, detail = decode_failure(answer.untrusted_payload)
        if code in _CONTENT_CODES:
            return ContentRefused(
                code, f"a document {self._of_site()} {_describe_refusal(code, detail)}", detail=detail
            )
        if code is Code.GUEST_MEMORY:
            return GuestFailed(code, f"a document {self._of_site()} needed more memory than it may have")
        return GuestFailed(code, f"a guest for documents {self._of_site()} failed")

    def _start_timer(self) -> None:
        """One timer for both bounds: a single thread uses no more processor time than passes."""
        now, cpu = self._loop.time(), self._process.cpu_seconds()
        wall_end, cpu_end = now + self._options.wall_seconds, cpu + self._options.cpu_seconds
        first = min(self._options.wall_seconds, self._options.cpu_seconds)
        self._timer = self._loop.call_later(first, self._on_timer, wall_end, cpu_end)

    def _on_timer(self, wall_end: float, cpu_end: float) -> None:
        wall_left = wall_end - self._loop.time()
        cpu_left = cpu_end - self._process.cpu_seconds()
        if wall_left <= 0 or cpu_left <= 0:
            what = "time" if wall_left <= 0 else "processor time"
            self._channel.fail(
                GuestFailed(
                    Code.GUEST_TIMEOUT, f"a document {self._of_site()} took more {what} than it may have"
                )
            )
            return
        wait = min(wall_left, max(cpu_left, _LEAST_CPU_WAIT_SECONDS))
        self._timer = self._loop.call_later(wait, self._on_timer, wall_end, cpu_end)

    async def _post_mortem(self) -> GuestFailed:
        """Why a guest is gone that we did not end: the kernel, for memory, or itself."""
        status = await self._process.await_end(_POST_MORTEM_SECONDS)
        oom_kills = 0 if self._process.cgroup is None else self._process.cgroup.oom_kills()
        self.kill()
        if status is None:
            return refuse("a pipe that was closed by a guest that lives on")
        if oom_kills or status == -signal.SIGKILL:
            return GuestFailed(
                Code.GUEST_MEMORY,
                f"the kernel ended the guest that read a document {self._of_site()}, for want of memory",
            )
        ended = signal.Signals(-status).name if status < 0 else f"exit status {status}"
        return GuestFailed(
            Code.GUEST_CRASHED, f"the guest that read a document {self._of_site()} died: {ended}"
        )

    def _of_site(self) -> str:
        return "of nobody" if self.key is None else f"of {self.key[1]}"


def judge_lock(ready: GuestReady, isolation: Isolation) -> None:
    """Nothing, if the lock holds what its level promises. Raises GuestFailed(JAIL_UNAVAILABLE)."""
    if isolation is Isolation.PROCESS:
        return
    if ready.escapes:
        raise GuestFailed(
            Code.JAIL_UNAVAILABLE, f"forbidden things worked in the jail (mask {ready.escapes})"
        )
    if not ready.has_seccomp:
        raise GuestFailed(Code.JAIL_UNAVAILABLE, "the guest has no seccomp filter")
    if isolation is Isolation.CONFINED and ready.landlock_abi == 0:
        raise GuestFailed(Code.JAIL_UNAVAILABLE, "this kernel has no Landlock, or it is switched off")


def _describe_refusal(code: Code, detail: str) -> str:
    if code is Code.UNSUPPORTED_CONTENT_TYPE and "/" in detail:
        return f"is {detail}, which is not read"
    return (
        f"could not be read: it {detail}" if code is Code.EXTRACTION_LIMIT and detail else "could not be read"
    )


def _describe(error: Exception) -> str:
    return {TimeoutError: "it was not ready in time", GuestGoneError: "it ended without a word"}.get(
        type(error), str(error)
    )
