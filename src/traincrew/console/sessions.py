"""Sessions of browsers: a cookie and a CSRF token, and the console that acts for the user. Nothing of it leaves the memory."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import hmac
import math
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

from aiohttp import WSCloseCode, web

from traincrew.console.access import UserInfo
from traincrew.console.contract.requests import SignInMethod
from traincrew.console.handlers import HandlerContext
from traincrew.console.view import problems

SWEEP_SECONDS = 5.0
"""Time between looks for sessions that are over."""


@dataclasses.dataclass(frozen=True)
class SessionLimits:
    idle: float = 12 * 3600.0
    """Seconds without a request and without an open tab, after which a session ends."""
    age: float = math.inf
    """Seconds after the sign-in, after which a session ends."""
    sessions: int = 100
    """Of all users. One more sign-in is refused."""
    per_user: int = 100
    """For one more, that which was not used for the longest time ends."""


async def _nothing() -> None:
    pass


@dataclasses.dataclass(frozen=True)
class SignedIn:
    """What a sign-in has opened."""

    console: HandlerContext
    method: SignInMethod
    user: UserInfo = UserInfo()
    close: Callable[[], Awaitable[None]] = _nothing
    rejected: asyncio.Event | None = None
    """Set when the API server rejects the credentials of the user. None: they are those of the console."""


@dataclasses.dataclass(eq=False)
class Session:
    signed_in: SignedIn
    started: float
    used: float
    cookie: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    csrf_token: str = dataclasses.field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)
    sockets: set[web.WebSocketResponse] = dataclasses.field(default_factory=set)
    requests: set[asyncio.Task[object]] = dataclasses.field(default_factory=set)
    watching: asyncio.Task[None] | None = None
    """Ends the session when the API server rejects its credentials."""

    @contextlib.contextmanager
    def acting(self) -> Iterator[None]:
        """A request of the session. It is cancelled when the session ends."""
        task = asyncio.current_task()
        assert task is not None
        self.requests.add(task)
        try:
            yield
        finally:
            self.requests.discard(task)

    async def close(self) -> None:
        """Close its WebSockets, cancel its requests, and disconnect it from the API server."""
        for each in set(self.sockets):
            with contextlib.suppress(ConnectionError, TimeoutError):
                async with asyncio.timeout(1.0):
                    await each.close(code=WSCloseCode.POLICY_VIOLATION, message=b"the session has ended")
        others = {*self.requests, *filter(None, [self.watching])} - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
        await self.signed_in.close()


class Sessions:
    def __init__(self, limits: SessionLimits | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._limits, self._clock = limits or SessionLimits(), clock
        self._sessions: dict[str, Session] = {}

    def __len__(self) -> int:
        return len(self._sessions)

    def sockets(self) -> list[web.WebSocketResponse]:
        return [each for session in self._sessions.values() for each in session.sockets]

    async def open(self, signed_in: SignedIn) -> Session:
        """A session with secrets of its own. Raise Problem if there are too many; then what was signed in is closed."""
        await self.end_expired()
        own = sorted(
            (each for each in self._sessions.values() if each.signed_in.user == signed_in.user), key=lambda each: each.used
        )
        for each in own[: max(len(own) + 1 - self._limits.per_user, 0)]:
            await self.end(each)
        if len(self._sessions) >= self._limits.sessions:
            await signed_in.close()
            raise problems.problem(
                "TooManySessions",
                503,
                "sign in",
                f"{len(self._sessions)} users are signed in, which is the limit of this console",
                "Try again later, or ask an administrator to raise --max-sessions.",
            )
        session = Session(signed_in, self._clock(), self._clock())
        self._sessions[session.cookie] = session
        if signed_in.rejected is not None:
            session.watching = asyncio.create_task(self._end_when(signed_in.rejected, session))
        return session

    def find(self, cookie: str, csrf_token: str) -> Session | None:
        """The session; both secrets must be right."""
        session = self._sessions.get(cookie)
        if session is None or self._is_over(session):
            return None
        if not hmac.compare_digest(session.csrf_token.encode(), csrf_token.encode(errors="replace")):
            return None
        session.used = self._clock()
        return session

    async def end(self, session: Session) -> None:
        if self._sessions.pop(session.cookie, None) is not None:
            await session.close()

    async def end_expired(self) -> None:
        for session in [each for each in self._sessions.values() if self._is_over(each)]:
            await self.end(session)

    @contextlib.asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Ends sessions that are over, and all of them at the end."""
        task = asyncio.create_task(self._sweep())
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            await asyncio.gather(*(self.end(each) for each in list(self._sessions.values())))

    def _is_over(self, session: Session) -> bool:
        now = self._clock()
        if session.sockets:  # an open tab is in use
            session.used = now
        return now - session.used > self._limits.idle or now - session.started > self._limits.age

    async def _sweep(self) -> None:
        while True:
            await asyncio.sleep(SWEEP_SECONDS)
            await self.end_expired()

    async def _end_when(self, rejected: asyncio.Event, session: Session) -> None:
        await rejected.wait()
        await self.end(session)
