"""Sessions of browsers: a token that is valid once becomes a cookie and a CSRF token."""

from __future__ import annotations

import dataclasses
import hmac
import secrets
import time
from collections.abc import Callable, Iterable

MAX_IDLE = 12 * 3600.0
"""Seconds after which an unused session ends."""
MAX_SESSIONS = 100
MAX_TOKENS = 20
"""Links that were not used yet. The oldest is forgotten first."""


@dataclasses.dataclass
class Session:
    cookie: str
    csrf_token: str
    used: float


class Sessions:
    def __init__(self, secret: str = "", tokens: Iterable[str] = (), clock: Callable[[], float] = time.monotonic) -> None:
        """secret: allows to ask for tokens; empty: nobody may. tokens: those that were given out already."""
        self._clock, self._secret = clock, secret
        self._tokens = dict.fromkeys(tokens)
        self._sessions: dict[str, Session] = {}

    def new_token(self) -> str:
        """A token for one sign-in."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = None
        while len(self._tokens) > MAX_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        return token

    def may_ask(self, secret: str) -> bool:
        """Whether the secret is that of the user who started the console."""
        return bool(self._secret) and hmac.compare_digest(self._secret.encode(), secret.encode())

    def sign_in(self, token: str) -> Session | None:
        """None: the token is wrong or used."""
        found = next((each for each in self._tokens if hmac.compare_digest(each.encode(), token.encode())), None)
        if found is None:
            return None
        del self._tokens[found]
        session = Session(secrets.token_urlsafe(32), secrets.token_urlsafe(32), self._clock())
        self._sessions[session.cookie] = session
        self._forget()
        return session

    def find(self, cookie: str, csrf_token: str) -> Session | None:
        """The session; both secrets must be right."""
        session = self._sessions.get(cookie)
        if session is None or self._clock() - session.used > MAX_IDLE:
            return None
        if not hmac.compare_digest(session.csrf_token.encode(), csrf_token.encode()):
            return None
        session.used = self._clock()
        return session

    def sign_out(self, session: Session) -> None:
        self._sessions.pop(session.cookie, None)

    def _forget(self) -> None:
        """Sessions that are over, and the least recently used ones beyond the limit."""
        by_use = sorted(self._sessions.values(), key=lambda each: each.used, reverse=True)
        kept = [each for each in by_use[:MAX_SESSIONS] if self._clock() - each.used <= MAX_IDLE]
        self._sessions = {each.cookie: each for each in kept}
