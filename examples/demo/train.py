"""Distributed training in a page of numpy: every rank learns from digits of its own, and gradients are averaged over the network.

Needs nothing but the variables that a PyTorchJob gives to its replicas: MASTER_ADDR, MASTER_PORT, WORLD_SIZE, RANK. Rank 0
averages, and writes a checkpoint every now and then. Whoever is lost is waited for, and all go on from the last checkpoint.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import socket
import struct
import time

import numpy as np

GLYPHS = (
    "01110100011000110001100011000101110", "00100011000010000100001000010001110", "01110100010000100010001000100011111",
    "11111000100010000010000011000101110", "00010001100101010010111110001000010", "11111100001111000001000011000101110",
    "00110010001000011110100011000101110", "11111000010001000100010000100001000", "01110100011000101110100011000101110",
    "01110100011000101111000010001001100",
)  # fmt: skip
"""The digits as dots, five to a row."""
SIDE, CLASSES, HIDDEN = 20, len(GLYPHS), 96
SHAPES = ((SIDE * SIDE, HIDDEN), (HIDDEN,), (HIDDEN, CLASSES), (CLASSES,))
SIZES = [int(np.prod(shape)) for shape in SHAPES]
CHECKPOINT = pathlib.Path("checkpoint.npz")


def digits(count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Pictures of digits at random places, bright and dim, under a lot of noise; and which digits they are."""
    labels = rng.integers(0, CLASSES, count)
    pictures = rng.normal(0, 0.6, (count, SIDE, SIDE))
    for picture, label in zip(pictures, labels, strict=True):
        dots = np.array([int(dot) for dot in GLYPHS[label]], float).reshape(7, 5).repeat(2, 0).repeat(2, 1)
        down, right = rng.integers(0, SIDE - 14), rng.integers(3, 8)
        picture[down : down + 14, right : right + 10] += dots * rng.uniform(0.8, 1.4)
    return pictures.reshape(count, -1).astype(np.float32), labels


def unpacked(vector: np.ndarray) -> list[np.ndarray]:
    return [part.reshape(shape) for part, shape in zip(np.split(vector, np.cumsum(SIZES)[:-1]), SHAPES, strict=True)]


def forward(vector: np.ndarray, pictures: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    first, bias, second, other = unpacked(vector)
    hidden = np.maximum(pictures @ first + bias, 0)
    scores = hidden @ second + other
    chances = np.exp(scores - scores.max(1, keepdims=True))
    return hidden, chances / chances.sum(1, keepdims=True)


def gradient(vector: np.ndarray, pictures: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The loss, and behind it the gradient: what is averaged is one vector."""
    hidden, chances = forward(vector, pictures)
    rows = np.arange(len(labels))
    loss = -np.log(chances[rows, labels] + 1e-9).mean()
    chances[rows, labels] -= 1
    chances /= len(labels)
    back = (chances @ unpacked(vector)[2].T) * (hidden > 0)
    parts = (pictures.T @ back, back.sum(0), hidden.T @ chances, chances.sum(0))
    return np.concatenate([[loss], *(part.ravel() for part in parts)]).astype(np.float32)


def send(peer: socket.socket, step: int, vector: np.ndarray) -> None:
    peer.sendall(struct.pack("!II", step, vector.nbytes) + vector.tobytes())


def receive(peer: socket.socket) -> tuple[int, np.ndarray]:
    step, length = struct.unpack("!II", exactly(peer, 8))
    return step, np.frombuffer(exactly(peer, length), np.float32)


def exactly(peer: socket.socket, count: int) -> bytes:
    found = bytearray()
    while len(found) < count:
        piece = peer.recv(count - len(found))
        if not piece:
            raise ConnectionError("the other side has gone")
        found += piece
    return bytes(found)


class Lead:
    """Rank 0: everybody's gradients come here, and their mean goes back."""

    def __init__(self, others: int) -> None:
        self.others, self.peers = others, list[socket.socket]()
        self.listener = socket.create_server(("", int(os.environ["MASTER_PORT"])))

    def gather(self) -> tuple[int, np.ndarray]:
        for peer in self.peers:
            peer.close()
        step, vector = load()
        print(f"rank 0 waits for {self.others} others, to go on from step {step}", flush=True)
        self.peers = [self.listener.accept()[0] for _ in range(self.others)]
        for peer in self.peers:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            send(peer, step, vector)
        return step, vector

    def average(self, step: int, own: np.ndarray) -> np.ndarray:
        theirs = [receive(peer)[1] for peer in self.peers]
        mean = np.mean([own, *theirs], axis=0, dtype=np.float32)
        for peer in self.peers:
            send(peer, step, mean)
        return mean


class Follow:
    """Every other rank."""

    def __init__(self) -> None:
        self.peer: socket.socket | None = None

    def gather(self) -> tuple[int, np.ndarray]:
        address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        while True:
            try:
                self.peer = socket.create_connection(address, timeout=60)
                return receive(self.peer)
            except OSError:
                time.sleep(0.1)  # rank 0 is not there yet, or not there again

    def average(self, step: int, own: np.ndarray) -> np.ndarray:
        assert self.peer is not None
        send(self.peer, step, own)
        return receive(self.peer)[1]


def load() -> tuple[int, np.ndarray]:
    if CHECKPOINT.exists():
        with np.load(CHECKPOINT) as saved:
            return int(saved["step"]), saved["vector"]
    rng = np.random.default_rng(0)
    parts = [rng.normal(0, (2 / shape[0]) ** 0.5, shape) if len(shape) > 1 else np.zeros(shape) for shape in SHAPES]
    return 0, np.concatenate([part.ravel() for part in parts]).astype(np.float32)


def save(step: int, vector: np.ndarray) -> None:
    beside = CHECKPOINT.with_suffix(".new.npz")
    np.savez(beside, step=step, vector=vector)
    beside.replace(CHECKPOINT)


def train(rank: int, group: Lead | Follow, options: argparse.Namespace) -> np.ndarray:
    rng = np.random.default_rng([rank, time.time_ns()])
    step, vector = group.gather()
    while step < options.steps:
        try:
            mean = group.average(step, gradient(vector, *digits(options.batch, rng)))
        except OSError as error:
            print(f"rank {rank} lost a peer at step {step} ({error}): all go back to the last checkpoint", flush=True)
            step, vector = group.gather()
            continue
        vector = vector - options.rate * mean[1:]
        step += 1
        if rank == 0 and (step % options.every == 0 or step == options.steps):
            save(step, vector)
        if step % options.every == 0:
            print(f"rank {rank} step {step} loss {mean[0]:.3f}", flush=True)
    return vector


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--every", type=int, default=50, help="steps between checkpoints")
    options = parser.parse_args()
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    pathlib.Path(f"rank-{rank}.pid").write_text(str(os.getpid()))
    print(f"rank {rank} of {world} on {socket.gethostname()}", flush=True)
    vector = train(rank, Lead(world - 1) if rank == 0 else Follow(), options)
    if rank == 0:
        pictures, labels = digits(2000, np.random.default_rng(1))
        print(f"accuracy on digits never seen: {(forward(vector, pictures)[1].argmax(1) == labels).mean():.3f}", flush=True)


if __name__ == "__main__":
    main()
