"""TensorBoard of a job: a pod beside it, shown in a sandboxed frame of the page."""

from __future__ import annotations

from traincrew.client.remote import RemoteClient
from traincrew.console import job_reader
from traincrew.console.contract.tensorboard import StartTensorBoard, TensorBoardInfo
from traincrew.console.job_reader import JobAddress
from traincrew.console.pod_views import PodPort, PodViews, StartedPods
from traincrew.inspection.tensorboard import PORT, TensorBoardPod
from traincrew.planner import tensorboard_pod

DEADLINE_SECONDS = 12 * 3600
"""As long as a session. A console that is killed leaves its pods behind."""


async def _pod(client: RemoteClient, job: JobAddress) -> TensorBoardPod:
    return TensorBoardPod(client, (await job_reader.read(client, job)).observed)


def _port(pod: TensorBoardPod, uid: str) -> PodPort:
    return PodPort(pod.client, pod.namespace, pod.name, uid, PORT)


async def info(client: RemoteClient, job: JobAddress, views: PodViews) -> TensorBoardInfo:
    pod = await _pod(client, job)
    found = await pod.state()
    path = views.path(_port(pod, found.uid)) if found.state == "serving" else ""
    return TensorBoardInfo(state=found.state, message=found.message, path=path)


async def start(client: RemoteClient, job: JobAddress, started: StartedPods, wanted: StartTensorBoard) -> TensorBoardInfo:
    pod = await _pod(client, job)
    board = tensorboard_pod.TensorBoard(wanted.log_directory, wanted.image, deadline_seconds=DEADLINE_SECONDS)
    if uid := await pod.start(board):
        started.add(_port(pod, uid))
    return TensorBoardInfo(state="starting")


async def stop(client: RemoteClient, job: JobAddress, views: PodViews) -> TensorBoardInfo:
    pod = await _pod(client, job)
    found = await pod.state()
    if found.uid:
        await pod.stop(found.uid)
        views.forget(found.uid)
    return TensorBoardInfo(state="absent")
