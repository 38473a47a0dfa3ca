"""Links of the console on one machine: each has a token that is valid for one sign-in."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterable

MAX_TOKENS = 20
"""Links that were not used yet. The oldest is forgotten first."""


class Links:
    def __init__(self, secret: str = "", tokens: Iterable[str] = ()) -> None:
        """secret: allows to ask for tokens; empty: nobody may. tokens: those that were given out already."""
        self._secret, self._tokens = secret, dict.fromkeys(tokens)

    def new_token(self) -> str:
        """A token for one sign-in."""
        token = secrets.token_urlsafe(32)
        self._tokens[token] = None
        while len(self._tokens) > MAX_TOKENS:
            del self._tokens[next(iter(self._tokens))]
        return token

    def may_ask(self, secret: str) -> bool:
        """Whether the secret is that of the user who started the console."""
        return bool(self._secret) and hmac.compare_digest(self._secret.encode(), secret.encode(errors="replace"))

    def spend(self, token: str) -> bool:
        """False: the token is wrong or used."""
        given = token.encode(errors="replace")
        found = next((each for each in self._tokens if hmac.compare_digest(each.encode(), given)), None)
        if found is None:
            return False
        del self._tokens[found]
        return True
