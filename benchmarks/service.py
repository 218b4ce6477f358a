"""The service under load: single rows from 1, 8 and 64 clients, merged and not, beside a route that explains nothing.

Then 64 clients with mixed parameters, without and with rows that the model refuses, while /healthz is asked all the
time; and connections that are opened and left idle. Everything is on this machine: a server in a process of its own, at
a free port of 127.0.0.1, and a client that keeps so many connections open. Each measurement ends after a number of
requests or seconds, whichever comes first, and the servers end with the script:
python benchmarks/service.py [--requests N] [--seconds S] [--memory N] [--only overload]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import re
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np

CLIENTS = (1, 8, 64)
SEARCHES = ("greedy", "thorough")


def explainers(folder: Path) -> list[dict[str, Any]]:
    """Fit and save both explainers on adult (or on the loan book, without NICECF_DATA); rows to explain, as JSON."""
    import skops.io
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    from nicecf import NICE
    from nicecf.benchmark.datasets import adult, loan_book
    from nicecf.cli.showcase import forest
    from nicecf.service.rows import RowReader

    data = os.environ.get("NICECF_DATA")
    X, y = adult(data) if data else loan_book(12_000)
    n_train = len(X) * 4 // 5
    model = forest().fit(X[:n_train], y[:n_train])
    linear = make_pipeline(forest()[0], StandardScaler(), LogisticRegression()).fit(X[:n_train], y[:n_train])
    for name, one, search in (("greedy", model, "greedy"), ("thorough", model, None), ("linear", linear, "greedy")):
        skops.io.dump(one, folder / f"{name}.skops")
        nice = NICE(one, search=search).fit(X[:n_train], y[:n_train])
        nice.save(folder / f"{name}.nice")
    print(f"{'adult' if data else 'the loan book'}: {n_train:,} training rows, a forest of 100 trees")
    rows = X[n_train : n_train + 1_000]
    return RowReader.of(nice._fitted.schema.full).shown(rows, len(rows))


class Server:
    """``nicecf serve`` in a process of its own."""

    def __init__(self, folder: Path, names: Sequence[str], *options: str) -> None:
        given = [f"{folder}/{name}.nice" for name in names]
        given += [word for name in names for word in ("--model", f"{name}={folder}/{name}.skops")]
        trust = ["--trust", "sklearn.tree._tree.Tree"]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "nicecf.cli", "serve", *given, *trust, "--port", "0", *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        said = ""
        while (found := re.search(r"at http://127\.0\.0\.1:(\d+)\n", said)) is None:
            line = self.process.stdout.readline()
            if not line:
                raise SystemExit("the server did not start")
            said += line
        self.port = int(found[1])

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.terminate()
        self.process.wait(60)

    @property
    def megabytes(self) -> float:
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


async def client(
    port: int, path: str, bodies: list[bytes | None], until: float, found: list[float], todo: list[int]
) -> None:
    """One connection that sends a request, waits for its answer, and sends the next."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    while todo[0] > 0 and time.perf_counter() < until:
        todo[0] -= 1
        body = bodies[todo[0] % len(bodies)]
        head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
        start = time.perf_counter()
        writer.write(head.encode() + b"\r\n" + (body or b""))
        answer = await reader.readuntil(b"\r\n\r\n")
        status = answer.split(b" ", 2)[1]
        if status not in (b"200", b"429"):
            raise SystemExit(f"{path}: {answer.decode()}")
        await reader.readexactly(int(re.search(rb"content-length: (\d+)", answer.lower())[1]))  # type: ignore[index]
        if status == b"200":
            found.append(time.perf_counter() - start)
    writer.close()


def load(
    port: int, path: str, bodies: list[bytes | None], clients: int, *, requests: int, seconds: float
) -> tuple[float, float, float]:
    """Requests per second, median and 99th percentile in milliseconds."""

    async def all_of_them() -> tuple[list[float], float]:
        found: list[float] = []
        start = time.perf_counter()
        todo = [requests]
        await asyncio.gather(*(client(port, path, bodies, start + seconds, found, todo) for _ in range(clients)))
        return found, time.perf_counter() - start

    found, took = asyncio.run(all_of_them())
    return len(found) / took, 1000 * float(np.median(found)), 1000 * float(np.quantile(found, 0.99))


def table(folder: Path, bodies: list[bytes | None], *, requests: int, seconds: float) -> None:
    """Every number of clients, merged and not, both searches, and nothing at all, one after the other."""
    print("| | clients | requests per second | p50, ms | p99, ms | merged / not |\n|---|---:|---:|---:|---:|---:|")
    with Server(folder, SEARCHES) as merged, Server(folder, SEARCHES, "--window", "0") as alone:
        for clients in CLIENTS:
            bounds = {"requests": max(requests, 4 * clients), "seconds": seconds}
            per_second, p50, p99 = load(merged.port, "/v1/models", [None], clients, **bounds)
            print(f"| nothing explained | {clients} | {per_second:,.0f} | {p50:.1f} | {p99:.1f} | |", flush=True)
            for name in SEARCHES:
                path, rates = f"/v1/models/{name}:explain", {}
                for how, server in (("not merged", alone), ("merged", merged)):
                    load(server.port, path, bodies, clients, requests=2 * clients, seconds=seconds)  # warm
                    rates[how], p50, p99 = load(server.port, path, bodies, clients, **bounds)
                    ratio = f"{rates['merged'] / rates['not merged']:.1f}x" if "merged" in rates else ""
                    print(
                        f"| {name}, {how} | {clients} | {rates[how]:,.1f} | {p50:.1f} | {p99:.1f} | {ratio} |",
                        flush=True,
                    )


# What the clients of a mixed load ask, by turns.
MIXED: list[dict[str, Any]] = [
    {},
    {"optimize": "proximity"},
    {"n": 3},
    {"rules": {"max_changes": 2}, "letter": True},
    {"search": "greedy"},
    {"budget": 2.0},
]
POISONED, IDLE, OPEN_FILES = 0.01, 1_060, 1_024
# By turns, so that what else the machine does falls on both.
ROUNDS = 6


def mixed_bodies(rows: list[dict[str, Any]], *, is_poisoned: bool) -> list[bytes]:
    """Requests with mixed parameters; of some, a number is larger than those that the forest takes."""
    rng = np.random.default_rng(0)
    bodies = []
    for at, row in enumerate(rows):
        if is_poisoned and rng.random() < POISONED:
            numbers = [
                key for key, cell in row.items() if isinstance(cell, (int, float)) and not isinstance(cell, bool)
            ]
            row = row | {str(rng.choice(numbers)): float(rng.choice([1e39, 1e45, 1e149]))}
        bodies.append(json.dumps({"instances": [row], "parameters": MIXED[at % len(MIXED)]}).encode())
    return bodies


async def posted(reader: Any, writer: Any, path: str, body: bytes | None) -> tuple[int, bytes]:
    """One request on an open connection: its status, and the body of its answer."""
    head = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    if body is not None:
        head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"\r\n" + (body or b""))
    answer = await reader.readuntil(b"\r\n\r\n")
    length = int(re.search(rb"content-length: (\d+)", answer.lower())[1])  # type: ignore[index]
    return int(answer.split(b" ", 2)[1]), await reader.readexactly(length)


def overload(port: int, bodies: list[bytes], *, clients: int, seconds: float) -> tuple[Counter[str], list[float]]:
    """What clients get who never wait, and how many seconds each answer of /healthz takes meanwhile."""
    found: Counter[str] = Counter()

    async def ask(number: int, until: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        at = number
        while time.perf_counter() < until:
            status, text = await posted(reader, writer, "/v1/models/thorough:explain", bodies[at % len(bodies)])
            at += clients
            found[str(status)] += 1
            for one in json.loads(text).get("explanations", ()):
                is_searched = one["found"] or not one.get("stopped_early")
                found["searched" if is_searched else "stopped"] += 1
                # An answer that was not searched for tells it, in its notes and in its letter.
                found["silent"] += not is_searched and not one["notes"]
                found["silent"] += not is_searched and "found none" in (one.get("letter") or "")
            if status in (429, 503):
                await asyncio.sleep(0.2)
        writer.close()

    async def everybody() -> None:
        until = time.perf_counter() + seconds
        await asyncio.gather(*(ask(number, until) for number in range(clients)))

    # In a process of its own: what the clients do with their answers is no part of the time.
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        watching = pool.submit(watched, port, seconds)
        asyncio.run(everybody())
        return found, watching.result()


def watched(port: int, seconds: float) -> list[float]:
    """Ask for /healthz again and again: the seconds of each answer."""

    async def watch() -> list[float]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        times, until = [], time.perf_counter() + seconds
        while time.perf_counter() < until:
            start = time.perf_counter()
            await posted(reader, writer, "/healthz", None)
            times.append(time.perf_counter() - start)
            await asyncio.sleep(0.01)
        writer.close()
        return times

    return asyncio.run(watch())


def idle(server: Server) -> tuple[int, float]:
    """Open connections and leave them: the status of /healthz then, and the longest of ten answers in milliseconds."""
    held = [socket.create_connection(("127.0.0.1", server.port), timeout=10) for _ in range(IDLE)]

    async def check() -> tuple[int, float]:
        times = []
        for _ in range(10):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            start = time.perf_counter()
            status, _ = await posted(reader, writer, "/healthz", None)
            times.append(time.perf_counter() - start)
            writer.close()
        return status, 1000 * max(times)

    found = asyncio.run(check())
    for one in held:
        one.close()
    return found


def hostile(folder: Path, rows: list[dict[str, Any]], seconds: float) -> None:
    """Mixed parameters from 64 clients, without and with poisoned rows, by turns; idle connections."""
    bodies = {is_poisoned: mixed_bodies(rows, is_poisoned=is_poisoned) for is_poisoned in (False, True)}
    found: dict[bool, Counter[str]] = {is_poisoned: Counter() for is_poisoned in bodies}
    health: dict[bool, list[float]] = {is_poisoned: [] for is_poisoned in bodies}
    with Server(folder, ["thorough"]) as server:
        overload(server.port, bodies[False], clients=8, seconds=3)  # warm
        for is_poisoned in (False, True) * ROUNDS:
            counts, times = overload(server.port, bodies[is_poisoned], clients=64, seconds=seconds / ROUNDS)
            found[is_poisoned] += counts
            health[is_poisoned] += times
    columns = ["answers per second", "200", "400", "429, 503", "stopped early", "without a note", "`/healthz` p99, ms"]
    print(f"\n| 64 clients, mixed parameters | {' | '.join(columns)} |\n|---|{'---:|' * len(columns)}")
    for is_poisoned, counts in found.items():
        name = "1 % of the rows poisoned" if is_poisoned else "no row poisoned"
        p99 = 1000 * float(np.quantile(health[is_poisoned], 0.99))
        busy = counts["429"] + counts["503"]
        told = [f"{counts[one]:,}" for one in ("200", "400")] + [
            f"{busy:,}",
            str(counts["stopped"]),
            str(counts["silent"]),
        ]
        print(f"| {name} | {counts['200'] / seconds:.1f} | {' | '.join(told)} | {p99:.1f} |")
    print(f"\npoisoned / not poisoned: {found[True]['200'] / found[False]['200']:.2f}x")
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (OPEN_FILES, hard))
    with Server(folder, ["linear"]) as server:
        resource.setrlimit(resource.RLIMIT_NOFILE, (IDLE + 200, hard))
        status, longest = idle(server)
    print(
        f"{IDLE:,} idle connections, a limit of {OPEN_FILES:,} open files: /healthz {status}, at most {longest:.1f} ms"
    )


def memory(folder: Path, bodies: list[bytes | None], n_requests: int, seconds: float) -> None:
    """The memory of one server over many requests for the greedy search and a linear model, which is quick."""
    print("\n| requests | MB |\n|---:|---:|")
    with Server(folder, ["linear"]) as server:
        done, end = 0, time.perf_counter() + seconds
        print(f"| 0 | {server.megabytes:.0f} |", flush=True)
        while done < n_requests and time.perf_counter() < end:
            part = max(64, n_requests // 10)
            load(server.port, "/v1/models/linear:explain", bodies, 64, requests=part, seconds=end - time.perf_counter())
            done += part
            print(f"| {done:,} | {server.megabytes:.0f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=600, help="of each measurement, at most; 0: no load at all")
    parser.add_argument("--seconds", type=float, default=20.0, help="of each measurement, at most")
    parser.add_argument("--only", choices=["overload"], help="nothing but this part")
    parser.add_argument("--memory", type=int, default=0, help="also the memory over so many requests")
    parser.add_argument("--memory-seconds", type=float, default=600.0, help="at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        rows = explainers(folder)
        bodies: list[bytes | None] = [json.dumps({"instances": [row]}).encode() for row in rows]
        if options.requests and options.only is None:
            table(folder, bodies, requests=options.requests, seconds=options.seconds)
        hostile(folder, rows, options.seconds)
        if options.memory:
            memory(folder, bodies, options.memory, options.memory_seconds)


if __name__ == "__main__":
    main()
