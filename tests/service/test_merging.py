"""Requests that arrive together, too many of them, and models that fail or hang."""

import asyncio
import threading
from time import monotonic

import pytest

from nicecf.exceptions import ModelError
from nicecf.service.limits import Limits
from nicecf.service.merging import Merger, Waiting
from nicecf.service.refusals import Refused
from service.conftest import fitted, probabilities, rows_of, run, served, table

EXPLAIN = "/v1/models/credit:explain"


class Gate:
    """Work that waits until it is let go, and remembers what it was called with."""

    def __init__(self, *, is_open=False):
        self.opened = threading.Event()
        self.calls = []
        if is_open:
            self.opened.set()

    def __call__(self, rows, seconds):
        self.calls.append(list(rows))
        assert self.opened.wait(20)
        if "bad" in rows:
            raise ValueError("bad")
        return [f"answer to {row}" for row in rows]


def merging(talk, **limits):
    """Talk to a merger, which is closed afterwards."""

    async def all_of_it():
        merger = Merger(Limits(**{"window": 0.05, **limits}))
        try:
            return await asyncio.wait_for(talk(merger), 30)
        finally:
            await merger.close()

    return asyncio.run(all_of_it())


def waiting(rows, work, key="key", seconds=10.0):
    return Waiting(key, rows, work, seconds)


async def until(is_so):
    for _ in range(2_000):
        if is_so():
            return
        await asyncio.sleep(0.005)
    raise AssertionError("it never came to that")


def test_what_waits_while_a_call_runs_becomes_one_call_and_each_gets_its_own_rows():
    gate = Gate()

    async def talk(merger):
        first = waiting(["a"], gate)
        merger.put(first)
        await until(lambda: gate.calls)
        others = [waiting(rows, gate) for rows in (["b"], ["c", "d"], ["e"])]
        for one in others:
            merger.put(one)
        gate.opened.set()
        return [await one.answer for one in (first, *others)]

    answers = merging(talk)
    assert gate.calls == [["a"], ["b", "c", "d", "e"]]
    assert answers == [["answer to a"], ["answer to b"], ["answer to c", "answer to d"], ["answer to e"]]


def test_other_options_are_another_call_and_calls_have_a_largest_size():
    gate = Gate()

    async def talk(merger):
        all_of_them = [waiting(["0"], gate)]
        merger.put(all_of_them[0])
        await until(lambda: gate.calls)
        for key, rows in (("x", ["1"]), ("y", ["2"]), ("x", ["3", "4"]), ("x", ["5", "6"])):
            all_of_them.append(waiting(rows, gate, key))
            merger.put(all_of_them[-1])
        gate.opened.set()
        await asyncio.gather(*(one.answer for one in all_of_them))

    merging(talk, together=4)
    assert gate.calls == [["0"], ["1", "3", "4"], ["2"], ["5", "6"]]


def test_without_a_window_nothing_is_merged():
    gate = Gate()

    async def talk(merger):
        all_of_them = [waiting([str(number)], gate) for number in range(4)]
        for one in all_of_them:
            merger.put(one)
        gate.opened.set()
        await asyncio.gather(*(one.answer for one in all_of_them))

    merging(talk, window=0.0)
    assert gate.calls == [["0"], ["1"], ["2"], ["3"]]


def test_after_a_call_for_several_the_next_waits_for_as_many():
    gate = Gate(is_open=True)

    async def talk(merger):
        merger._n_before = 3
        first = waiting(["a"], gate)
        merger.put(first)
        for row in ("b", "c"):
            await asyncio.sleep(0)
            merger.put(waiting([row], gate))
        await first.answer

    merging(talk, window=20.0)
    assert gate.calls == [["a", "b", "c"]]


def test_whoever_has_other_options_is_not_forgotten_after_a_window():
    gate = Gate(is_open=True)

    async def talk(merger):
        merger._n_before = 3
        one, other = waiting(["a"], gate, "x"), waiting(["b"], gate, "y")
        merger.put(one)
        merger.put(other)
        return [await one.answer, await other.answer]

    assert merging(talk, window=0.02) == [["answer to a"], ["answer to b"]]


def test_a_single_client_never_waits_for_others():
    gate = Gate(is_open=True)

    async def talk(merger):
        for row in "abc":
            one = waiting([row], gate)
            merger.put(one)
            await one.answer

    merging(talk, window=20.0)  # the talk would time out
    assert gate.calls == [["a"], ["b"], ["c"]]


def test_a_full_queue_refuses_at_once_and_says_when_to_come_back():
    gate = Gate()

    async def talk(merger):
        first = waiting(["a"], gate)
        merger.put(first)
        await until(lambda: gate.calls)
        merger.put(waiting(["b"], gate))
        merger.put(waiting(["c"], gate))
        with pytest.raises(Refused) as refused:
            merger.put(waiting(["d"], gate))
        gate.opened.set()
        await first.answer
        return refused.value

    refusal = merging(talk, queue=2)
    assert refusal.status == 429
    assert int(refusal.headers["Retry-After"]) >= 1


def test_a_client_that_leaves_frees_its_place_and_is_not_explained():
    gate = Gate()

    async def talk(merger):
        first, second, third = (waiting([row], gate) for row in "abc")
        merger.put(first)
        await until(lambda: gate.calls)
        merger.put(second)
        merger.leave(second)
        assert len(merger) == 0
        merger.put(third)
        gate.opened.set()
        return await third.answer

    assert merging(talk, queue=1) == ["answer to c"]
    assert gate.calls == [["a"], ["c"]]


def test_a_call_that_raises_is_divided_until_the_request_at_fault_is_alone():
    gate = Gate()

    async def talk(merger):
        all_of_them = [waiting([row], gate) for row in ("first", "good", "bad", "fine")]
        merger.put(all_of_them[0])
        await until(lambda: gate.calls)
        for one in all_of_them[1:]:
            merger.put(one)
        gate.opened.set()
        return await asyncio.gather(*(one.answer for one in all_of_them), return_exceptions=True)

    first, good, bad, fine = merging(talk)
    assert gate.calls == [["first"], ["good", "bad", "fine"], ["good"], ["bad", "fine"], ["bad"], ["fine"]]
    assert (first, good, fine) == (["answer to first"], ["answer to good"], ["answer to fine"])
    assert isinstance(bad, ValueError)


def named(row):
    error = ModelError("it refuses a row")
    error.row = row
    return error


def test_a_request_whose_row_an_error_names_costs_the_others_one_call():
    calls = []

    def work(rows, seconds):
        calls.append(list(rows))
        if "bad" in rows:
            raise named(rows.index("bad"))
        return rows

    async def talk(merger):
        merger._n_before = 3
        requests = [waiting(["a", "b"], work), waiting(["c", "bad"], work), waiting(["d"], work)]
        for one in requests:
            merger.put(one)
        return await asyncio.gather(*(one.answer for one in requests), return_exceptions=True)

    first, bad, last = merging(talk, window=20.0)
    assert calls == [["a", "b", "c", "bad", "d"], ["a", "b", "d"]]
    assert (first, last) == (["a", "b"], ["d"])
    assert isinstance(bad, ModelError)


def test_one_bad_request_of_64_costs_about_as_many_calls_as_64_has_digits():
    gate = Gate(is_open=True)

    async def talk(merger):
        merger._n_before = 64
        requests = [waiting(["bad" if number == 37 else f"row {number}"], gate) for number in range(64)]
        for one in requests:
            merger.put(one)
        return await asyncio.gather(*(one.answer for one in requests), return_exceptions=True)

    answers = merging(talk, window=20.0)
    assert [at for at, one in enumerate(answers) if isinstance(one, ValueError)] == [37]
    assert len(gate.calls) == 1 + 2 * 6


def test_a_request_whose_time_has_passed_in_the_queue_is_refused_and_not_searched():
    gate = Gate()
    refused = []

    async def talk(merger):
        merger.on_refusal = refused.append
        first, late, patient = waiting(["a"], gate), waiting(["b"], gate, seconds=0.06), waiting(["c"], gate)
        merger.put(first)
        await until(lambda: gate.calls)
        merger.put(late)
        merger.put(patient)
        await asyncio.sleep(0.1)
        gate.opened.set()
        with pytest.raises(Refused) as refusal:
            await late.answer
        return refusal.value, await patient.answer

    refusal, answer = merging(talk)
    assert (refusal.status, refusal.headers["Retry-After"].isdigit()) == (503, True)
    assert gate.calls == [["a"], ["c"]]
    assert answer == ["answer to c"]
    assert refused == ["no_time"]


@pytest.mark.parametrize(("share_left", "is_searched"), [(0.05, False), (0.2, True)])
def test_a_search_has_at_least_a_tenth_of_the_time_of_its_request(share_left, is_searched):
    gate = Gate(is_open=True)

    async def talk(merger):
        seconds = 20.0
        one = Waiting("key", ["a"], gate, seconds, arrival=monotonic() - (1 - share_left) * seconds)
        merger._queue.append(one)
        merger._arrived.set()
        await asyncio.wait({one.answer})
        return one.answer.exception() is None

    assert merging(talk) == is_searched
    assert bool(gate.calls) == is_searched


def test_a_request_that_would_wait_for_all_of_its_time_is_refused_at_once():
    gate = Gate()

    async def talk(merger):
        merger._call_times.append(4.0)
        first = waiting(["a"], gate)
        merger.put(first)
        await until(lambda: gate.calls)
        merger.put(waiting(["b"], gate, "other"))
        with pytest.raises(Refused) as refusal:
            merger.put(waiting(["c"], gate, seconds=5.0))  # two calls of four seconds come first
        merger.put(waiting(["d"], gate, "other", seconds=5.0))  # only one: it is merged with the second
        gate.opened.set()
        await first.answer
        return refusal.value

    refusal = merging(talk)
    assert refusal.status == 503
    assert int(refusal.headers["Retry-After"]) in (8, 9)


def test_one_long_call_does_not_make_the_others_seem_long():
    async def talk(merger):
        merger._call_times.extend([0.1, 0.1, 0.1, 12.0])
        merger.put(waiting(["a"], Gate(), "one", seconds=1.0))
        merger.put(waiting(["b"], Gate(), "other", seconds=1.0))
        return len(merger)

    assert merging(talk) == 2


def test_whoever_is_being_served_at_the_end_is_refused_too():
    gate = Gate()

    async def all_of_it():
        merger = Merger(Limits())
        one = waiting(["a"], gate)
        merger.put(one)
        await until(lambda: gate.calls)
        await merger.close()
        gate.opened.set()
        with pytest.raises(Refused, match="shutting down"):
            await asyncio.wait_for(one.answer, 5)

    asyncio.run(all_of_it())


def test_while_a_call_is_divided_a_part_that_hangs_refuses_the_other_part():
    opened = threading.Event()

    def work(rows, seconds):
        if len(rows) == 2:
            raise ValueError("one of them")
        opened.wait(20)
        return rows

    async def talk(merger):
        merger._n_before = 2
        requests = [waiting(["a"], work, seconds=0.2), waiting(["b"], work, seconds=100.0)]
        for one in requests:
            merger.put(one)
        answers = await asyncio.gather(*(one.answer for one in requests), return_exceptions=True)
        opened.set()
        return [one.status for one in answers]

    assert merging(talk, patience=0.05, window=20.0) == [504, 503]


def test_a_model_that_hangs_is_504_then_503_until_it_returns():
    gate = Gate()

    async def talk(merger):
        first = waiting(["a"], gate, seconds=0.02)
        merger.put(first)
        await until(lambda: gate.calls)
        queued = waiting(["b"], gate)
        merger.put(queued)
        statuses = []
        for one in (first, queued):
            with pytest.raises(Refused) as refused:
                await one.answer
            statuses.append(refused.value.status)
        with pytest.raises(Refused) as refused:
            merger.put(waiting(["c"], gate))
        statuses.append(refused.value.status)
        gate.opened.set()
        await until(lambda: not merger.is_hanging)
        last = waiting(["d"], gate)
        merger.put(last)
        return statuses, await last.answer

    statuses, last = merging(talk, patience=0.05)
    assert statuses == [504, 503, 503]
    assert last == ["answer to d"]
    assert gate.calls == [["a"], ["d"]]


def test_code_that_ends_the_program_does_not_end_the_service():
    def ends(rows, seconds):
        raise SystemExit

    async def talk(merger):
        one, other = waiting(["a"], ends, "one"), waiting(["b"], Gate(is_open=True), "other")
        merger.put(one)
        merger.put(other)
        with pytest.raises(RuntimeError, match="SystemExit was raised"):
            await one.answer
        return await other.answer

    assert merging(talk) == ["answer to b"]


class Slow:
    """The model of these tests, which can be told to wait, to fail on a row, and how often it was asked."""

    def __init__(self):
        self.opened = threading.Event()
        self.opened.set()
        self.asked = threading.Event()
        self.n_calls = 0
        self.fails_at = None

    def __call__(self, X):
        self.n_calls += 1
        self.asked.set()
        assert self.opened.wait(20)
        if self.fails_at is not None and (X["age"] == self.fails_at).any():
            raise RuntimeError("no")
        return probabilities(X)


@pytest.fixture(scope="module")
def slow():
    model = Slow()
    return model, fitted(model, search="greedy")


@pytest.mark.parametrize("options", [{}, {"search": "greedy"}], ids=str)
def test_merged_answers_equal_those_of_the_library_row_by_row(options):
    nice = fitted(**options)
    X = table(10, seed=20)
    service = served(nice)

    async def talk(client):
        asked = [client.post(EXPLAIN, json={"instances": [row]}) for row in rows_of(X)]
        return await asyncio.gather(*asked)

    texts = [answer.json()["explanations"][0]["text"] for answer in run(talk, service)]
    assert texts == [nice.explain(X[at : at + 1])[0].text() for at in range(len(X))]
    calls = next(
        line for line in service.measures.text().decode().splitlines() if line.startswith("nicecf_batch_rows_count")
    )
    assert float(calls.split()[1]) < 5


def test_only_the_row_at_fault_gets_502(slow):
    model, nice = slow
    X = table(5, seed=21)
    X["age"] = [31, 32, 99, 33, 34]

    async def talk(client):
        model.opened.clear()
        first = asyncio.create_task(client.post(EXPLAIN, json={"instances": rows_of(X)[:1]}))
        await until(lambda: len(service.mergers["credit"]) == 0 and model.asked.is_set())
        rest = [asyncio.create_task(client.post(EXPLAIN, json={"instances": [row]})) for row in rows_of(X)[1:]]
        await until(lambda: len(service.mergers["credit"]) == 4)
        model.fails_at = 99
        model.opened.set()
        return await asyncio.gather(first, *rest)

    service = served(nice)
    model.asked.clear()
    try:
        answers = run(talk, service)
    finally:
        model.fails_at = None
    assert [answer.status_code for answer in answers] == [200, 200, 502, 200, 200]


def test_over_http_overload_is_429_and_a_hanging_model_504_then_503(slow):
    model, nice = slow
    service = served(nice, limits=Limits(queue=1, seconds=0.3, patience=0.5))
    rows = rows_of(table(4, seed=22))

    async def talk(client):
        model.opened.clear()
        model.asked.clear()
        first = asyncio.create_task(client.post(EXPLAIN, json={"instances": rows[:1]}))
        await until(model.asked.is_set)
        second = asyncio.create_task(client.post(EXPLAIN, json={"instances": rows[1:2]}))
        await until(lambda: len(service.mergers["credit"]) == 1)
        third = await client.post(EXPLAIN, json={"instances": rows[2:3]})
        first, second = await first, await second
        fourth = await client.post(EXPLAIN, json={"instances": rows[3:]})
        ready = await client.get("/readyz")
        model.opened.set()
        await until(lambda: not service.mergers["credit"].is_hanging)
        again = await client.post(EXPLAIN, json={"instances": rows[3:]})
        return [one.status_code for one in (first, second, third, fourth, ready, again)], third.headers

    statuses, headers = run(talk, service)
    assert statuses == [504, 503, 429, 503, 503, 200]
    assert headers["retry-after"].isdigit()
