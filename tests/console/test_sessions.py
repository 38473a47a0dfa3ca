"""Sessions end: when nobody uses them, when they are old, and with the console."""

from __future__ import annotations

from typing import Any, cast

from traincrew.console.handlers import HandlerContext
from traincrew.console.sessions import SessionLimits, Sessions, SignedIn

CONSOLE = cast(HandlerContext, None)
"""Sessions do not look at it."""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


async def test_a_session_ends_after_twelve_idle_hours() -> None:
    clock = Clock()
    sessions = Sessions(clock=clock)
    session = await sessions.open(SignedIn(CONSOLE, "link"))
    clock.now = SessionLimits().idle
    assert sessions.find(session.cookie, session.csrf_token) is session
    clock.now = 2 * SessionLimits().idle + 1
    assert sessions.find(session.cookie, session.csrf_token) is None


async def test_a_session_ends_with_its_age_even_if_it_is_used_and_disconnects_from_the_api_server() -> None:
    clock, closed = Clock(), list[str]()

    async def close() -> None:
        closed.append("closed")

    sessions = Sessions(SessionLimits(idle=10, age=25), clock)
    session = await sessions.open(SignedIn(CONSOLE, "token", close=close))
    for clock.now in (8, 16, 24):
        assert sessions.find(session.cookie, session.csrf_token) is session
    clock.now = 26
    assert sessions.find(session.cookie, session.csrf_token) is None
    assert closed == []
    await sessions.end_expired()
    assert (closed, len(sessions)) == (["closed"], 0)
    await sessions.end(session)
    assert closed == ["closed"], "once"


async def test_an_open_tab_is_in_use_until_the_session_is_old() -> None:
    clock = Clock()
    sessions = Sessions(SessionLimits(idle=10, age=100), clock)
    session = await sessions.open(SignedIn(CONSOLE, "token"))
    tab = cast(Any, object())
    session.sockets.add(tab)
    clock.now = 50
    await sessions.end_expired()
    assert len(sessions) == 1
    session.sockets.discard(tab)
    clock.now = 61
    await sessions.end_expired()
    assert len(sessions) == 0


async def test_the_end_of_the_console_ends_all_sessions() -> None:
    closed = list[int]()

    async def close() -> None:
        closed.append(1)

    sessions = Sessions()
    async with sessions.running():
        for _ in range(3):
            await sessions.open(SignedIn(CONSOLE, "token", close=close))
    assert (len(closed), len(sessions)) == (3, 0)


async def test_secrets_of_sessions_differ_and_both_are_needed() -> None:
    sessions = Sessions()
    one, other = await sessions.open(SignedIn(CONSOLE, "link")), await sessions.open(SignedIn(CONSOLE, "link"))
    assert len({one.cookie, one.csrf_token, other.cookie, other.csrf_token}) == 4
    assert sessions.find(one.cookie, other.csrf_token) is None
    assert sessions.find("", "") is None
    assert one.cookie not in repr(one)
