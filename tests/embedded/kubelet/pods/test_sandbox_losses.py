"""A lost sandbox is reported before the exits that it causes in other pods."""

from __future__ import annotations

import asyncio

import pytest

from traincrew.embedded.kubelet.pods import sandbox_losses
from traincrew.embedded.kubelet.pods.sandbox_losses import SandboxLosses


async def test_an_exit_waits_until_all_losses_are_reported() -> None:
    losses, order = SandboxLosses(), list[str]()

    async def exit_of_a_peer() -> None:
        await losses.reported()
        order.append("exit")

    with losses.pending():
        with losses.pending():
            peer = asyncio.create_task(exit_of_a_peer())
            await asyncio.sleep(0)
        await asyncio.sleep(0)
        order.append("loss")
    await peer
    assert order == ["loss", "exit"]


async def test_a_loss_that_is_never_reported_does_not_keep_exits_back_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_losses, "LONGEST_DELAY", 0.01)
    losses = SandboxLosses()
    with losses.pending():
        await losses.reported()
