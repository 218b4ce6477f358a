"""A small explainer, and a client that talks to the application in this process."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import httpx
import numpy as np
import pandas as pd
import pytest

from nicecf import NICE
from nicecf.service.app import app_of
from nicecf.service.examples import examples_of
from nicecf.service.explainers import Service, Source

EXPLAIN = "/v1/models/credit:explain"


def table(n_rows=300, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "age": rng.integers(18, 80, n_rows),
            "income": rng.normal(40, 12, n_rows).round(1),
            "job": rng.choice(["clerk", "nurse", "smith"], n_rows),
            "is_customer": rng.random(n_rows) < 0.5,
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n_rows), unit="D"),
        }
    )


def probabilities(X):
    """A model of two lines: what it says of a row does not depend on the others."""
    score = X["income"].to_numpy(float) - 0.2 * X["age"].to_numpy(float) + 8 * (X["job"] == "nurse").to_numpy(float)
    yes = 1 / (1 + np.exp(-(score + 4 * X["is_customer"].to_numpy(float) - 34) / 5))
    return np.column_stack([1 - yes, yes])


def fitted(model=probabilities, **options):
    X = table()
    y = np.where(probabilities(X)[:, 1] > 0.5, "yes", "no")
    return NICE(model, classes=["no", "yes"], **options).fit(X, y)


@pytest.fixture(scope="session")
def nice():
    return fitted()


@pytest.fixture(scope="session", autouse=True)
def examples_made_once():
    """Not again for every service of the same explainer: they are most of the work of a start."""
    made = {}

    def remembered(nice, reader, table=None):
        if table is not None:
            return examples_of(nice, reader, table)
        if id(nice) not in made:
            made[id(nice)] = (nice, examples_of(nice, reader))
        return made[id(nice)][1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nicecf.service.version.examples_of", remembered)
        yield


@asynccontextmanager
async def client_of(service):
    await service.start()
    try:
        transport = httpx.ASGITransport(app_of(service), raise_app_exceptions=False)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as client:
            yield client
    finally:
        await service.stop()


def served(nice, **options):
    return Service({"credit": Source(lambda: nice)}, **options)


def run(talk, service):
    """Talk to a service: an async function of a client; what it returns."""

    async def all_of_it():
        async with client_of(service) as client:
            return await asyncio.wait_for(talk(client), 60)

    return asyncio.run(all_of_it())


def post(service, body, path=EXPLAIN, **options):
    """Send a body: JSON of a value, or text as it is."""

    async def talk(client):
        sent = (
            {"content": body, "headers": {"Content-Type": "application/json"}}
            if isinstance(body, (str, bytes))
            else {"json": body}
        )
        return await client.post(path, **(sent | options))

    return run(talk, service)


def get(service, path, **options):
    return run(lambda client: client.get(path, **options), service)


def explained(service, rows, **parameters):
    """The explanations of rows, of a table or of JSON."""
    rows = rows_of(rows) if isinstance(rows, pd.DataFrame) else rows
    answer = post(service, {"instances": rows, "parameters": parameters})
    assert answer.status_code == 200, answer.text
    return answer.json()["explanations"]


def with_wordings(service, **wordings):
    """The service, whose explainer calls things so, by language."""
    service.versions["credit"] = replace(service.versions["credit"], wordings=wordings)
    return service


def rows_of(X):
    """Rows as JSON has them."""
    return [{key: cell_of(value) for key, value in row.items()} for row in X.to_dict("records")]


def cell_of(value):
    if isinstance(value, pd.Timestamp):
        return str(value.date())
    return None if pd.isna(value) else getattr(value, "item", lambda: value)()
