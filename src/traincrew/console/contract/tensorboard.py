"""TensorBoard of a job."""

from __future__ import annotations

from typing import Literal

from traincrew.console.contract.message import Message, Request


class StartTensorBoard(Request, kw_only=True):
    log_directory: str = ""
    """A path in the replicas, or a URL such as s3://bucket/logs. Empty: from the command of the job, else its shared volume."""
    image: str = ""
    """An image that has TensorBoard. Empty: the image of the job."""


class TensorBoardInfo(Message, kw_only=True):
    state: Literal["absent", "starting", "serving", "ended"]
    message: str = ""
    """Why it does not serve, and what to do."""
    path: str = ""
    """Where the page shows it, for a frame with the sandbox `allow-scripts`. Empty: it does not serve."""
