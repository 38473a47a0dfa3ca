"""A console that acts with the credentials of one user, from the sign-in to the end of the session."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import logging

from traincrew import errors
from traincrew.client.connection import ServerConnection
from traincrew.client.remote import RemoteClient
from traincrew.console import access, console_services
from traincrew.console.access import UserInfo
from traincrew.console.contract.requests import SignInMethod
from traincrew.console.handlers import HandlerContext
from traincrew.console.job_cache import JobCache
from traincrew.console.sessions import SignedIn
from traincrew.console.settings import ConsoleTarget

log = logging.getLogger(__name__)

REVIEW_SECONDS = 60.0
"""Time between reviews of the credentials: a watch goes on after its token has expired."""

PAUSE_SECONDS = 1.0


class UserConsole:
    def __init__(self, connection: ServerConnection, target: ConsoleTarget) -> None:
        self._connection, self._target = connection, target
        self._opened: asyncio.Future[tuple[HandlerContext, UserInfo]] = asyncio.get_running_loop().create_future()
        self._task: asyncio.Task[None] | None = None
        self._rejected = asyncio.Event()

    async def sign_in(self, method: SignInMethod) -> SignedIn:
        """Raise Unauthorized if the API server does not know the user."""
        self._task = asyncio.create_task(self._run())
        try:
            console, user = await self._opened
        except BaseException:
            await self._close()
            raise
        return SignedIn(console, method, user, self._close, self._rejected)

    async def _close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        try:
            async with RemoteClient(self._connection, component="console", limits=console_services.LIMITS) as client:
                user = await access.user_info(client)
                if user.is_anonymous:
                    raise errors.Unauthorized("the API server takes the user for an anonymous one")
                target = dataclasses.replace(self._target, namespace=self._target.namespace or user.namespace or "default")
                async with console_services.running(client, target) as services:
                    self._opened.set_result((HandlerContext(services, target), user))
                    await self._review(client, services.cache)
        except Exception as error:
            if self._opened.done():
                log.exception("the console of a user has failed")
                self._rejected.set()  # the user signs in again
            else:
                self._opened.set_exception(error)

    async def _review(self, client: RemoteClient, cache: JobCache) -> None:
        """Until the API server rejects the credentials."""
        with cache.listening() as changed:
            while not self._rejected.is_set():
                changed.clear()
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(REVIEW_SECONDS):
                        while not isinstance(cache.failure(), errors.Unauthorized):
                            await changed.wait()
                            changed.clear()
                try:
                    await access.user_info(client)
                except errors.Unauthorized:
                    self._rejected.set()
                except errors.ApiError:
                    pass  # the API server is away; the page shows it
                await asyncio.sleep(PAUSE_SECONDS)
        await asyncio.Event().wait()  # the session closes this console
