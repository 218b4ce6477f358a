"""The service under load: single rows from 1, 8 and 64 clients, merged and not, beside a route that explains nothing.

Everything is on this machine: a server in a process of its own, at a free port of 127.0.0.1, and a client that keeps so
many connections open. Each measurement ends after a number of requests or seconds, whichever comes first, and the
servers end with the script: python benchmarks/service.py [--requests N] [--seconds S] [--memory N]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
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
    parser.add_argument("--memory", type=int, default=0, help="also the memory over so many requests")
    parser.add_argument("--memory-seconds", type=float, default=600.0, help="at most")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        bodies: list[bytes | None] = [json.dumps({"instances": [row]}).encode() for row in explainers(folder)]
        if options.requests:
            table(folder, bodies, requests=options.requests, seconds=options.seconds)
        if options.memory:
            memory(folder, bodies, options.memory, options.memory_seconds)


if __name__ == "__main__":
    main()
