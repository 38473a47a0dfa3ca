"""What is measured on both sides, one server after the other with each figure."""

from __future__ import annotations

import os
import pathlib
import statistics
import subprocess
import sys
import time
from typing import Any

from bench.apiserver import load, servers
from bench.apiserver.servers import Server

CONNECTIONS = (1, 16, 64)
WATCHERS = 50
LISTS = ("json", "table", "label", "pages")

Found = dict[str, float]
Pair = dict[str, Found]
"""By server: ours, real."""


def compared(parent: pathlib.Path, pods: int, writes: int) -> dict[str, Pair]:
    with servers.ours(parent) as ours, servers.real(parent) as real:
        both = {"ours": ours, "real": real}
        results: dict[str, Pair] = {"empty": {name: {"memory": server.memory()} for name, server in both.items()}}
        each(both, "creates", "warm", 16, writes // 10)
        for connections in CONNECTIONS:
            count = writes // 5 if connections == 1 else writes
            results[f"create {connections}"] = each(both, "creates", f"c{connections}", connections, count)
        results["patch"] = each(both, "patches", "c16", 16, writes)
        results["strategic"] = each(both, "patches", "c16", 16, writes, load.STRATEGIC, 2)
        results["get"] = each(both, "gets", "c16", 16, writes)
        results["fanout"] = each(both, "fanout", "fan", WATCHERS, writes // 3)
        results["latency"] = each(both, "latency", "latency", writes // 15, 50)
        results |= with_many_pods(both, pods)
        for name, server in both.items():
            held = servers.run_client(server, "count")["pods"]
            grown = results["memory"][name]["memory"] - results["empty"][name]["memory"]
            results["memory"][name]["each"] = grown * 1024 / held
    return results


def with_many_pods(both: dict[str, Server], pods: int) -> dict[str, Pair]:
    """With so many pods in one namespace: memory and lists."""
    results: dict[str, Pair] = {"many": each(both, "creates", "many", 64, pods)}
    time.sleep(2.0)  # what a garbage collector gives back at once is given back
    results["memory"] = {name: {"memory": server.memory()} for name, server in both.items()}
    for form in LISTS:
        results[f"list {form}"] = each(both, "lists", "many", form, 5)
    return results


def each(both: dict[str, Server], task: str, *arguments: object) -> Pair:
    return {name: servers.run_client(server, task, *arguments) for name, server in both.items()}


def starts(parent: pathlib.Path, times: int) -> Pair:
    """Seconds until a cluster answers that was not there before, and one that was."""
    fresh, again = [], []
    for _ in range(times):
        with servers.directory(parent) as home:
            fresh.append(_up(home))
            again.append(_up(home))
    begun = time.perf_counter()
    with servers.real(parent):
        real = time.perf_counter() - begun
    return {"ours": {"fresh": statistics.median(fresh), "again": statistics.median(again)}, "real": {"fresh": real}}


def _up(home: pathlib.Path) -> float:
    begun = time.perf_counter()
    _traincrew("up", "--detach", home)
    took = time.perf_counter() - begun
    _traincrew("down", "", home)
    return took


def _traincrew(verb: str, flag: str, home: pathlib.Path) -> None:
    command: list[Any] = [sys.executable, "-m", servers.ENTRY, verb, *([flag] if flag else []), "--data", home]
    subprocess.run(command, check=True, capture_output=True, env=os.environ | servers.COMPILED)
