"""What whoever runs the service relies on: who asked what, who may ask, whether it works, and what one request can cost."""

import asyncio
import json
import re
import threading

import numpy as np
import pytest

from nicecf.service.explainers import Service, Source
from nicecf.service.keys import Keys, digest, new_key
from service.conftest import EXPLAIN, fitted, get, post, probabilities, rows_of, run, served, table
from service.test_merging import until

TRACE = "00-4bf92f3577b34d66a3ce929d0e0e4736-00f067110b7902b7-01"


def metric(service, name):
    """The sum of a measure over all of its labels."""
    lines = service.measures.text().decode().splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if re.match(rf"{name}[{{ ]", line))


class TestAudit:
    def test_it_has_a_line_for_each_request_and_no_values(self, nice, tmp_path):
        path = tmp_path / "audit.jsonl"
        key, line = new_key("back-office")
        (tmp_path / "keys.txt").write_text(line)
        service = served(nice, keys_file=str(tmp_path / "keys.txt"), audit_log=str(path))
        rows = rows_of(table(2, seed=31))

        async def talk(client):
            await client.post(EXPLAIN, json={"instances": rows, "parameters": {"target": "secret-target"}})
            headers = {"Authorization": f"Bearer {key}", "traceparent": TRACE}
            await client.post(EXPLAIN, json={"instances": rows}, headers=headers)
            await client.post(EXPLAIN, json={"instances": [{"age": "secret"}]}, headers=headers)
            await client.get("/v1/models/secret-free?language=secret", headers=headers)

        run(talk, service)
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        assert [(one["key"], one["model"], one["rows"], one["status"]) for one in lines] == [
            (None, None, None, 401),
            ("back-office", "credit", 2, 200),
            ("back-office", "credit", None, 400),
            ("back-office", None, None, 404),
        ]
        assert [one["traceparent"] for one in lines] == [None, TRACE, TRACE, TRACE]
        assert lines[1]["path"] == EXPLAIN
        assert lines[1]["client"]
        assert lines[1]["seconds"] > 0
        values = {str(cell) for row in rows for cell in row.values() if isinstance(cell, (float, str))}
        text = path.read_text()
        assert not any(f'"{value}"' in text or f": {value}" in text for value in values)
        assert "secret-target" not in text
        assert "language" not in text
        assert path.stat().st_mode & 0o077 == 0

    def test_a_file_that_was_moved_away_begins_anew(self, nice, tmp_path):
        path = tmp_path / "audit.jsonl"
        service = served(nice, audit_log=str(path))

        async def talk(client):
            await client.get("/healthz")
            path.rename(tmp_path / "old.jsonl")
            await client.get("/readyz")

        run(talk, service)
        assert json.loads((tmp_path / "old.jsonl").read_text())["path"] == "/healthz"
        assert json.loads(path.read_text())["path"] == "/readyz"

    def test_a_trace_is_returned_if_it_is_one(self, nice):
        service = served(nice)
        assert get(service, "/healthz", headers={"traceparent": TRACE}).headers["traceparent"] == TRACE
        for odd in ("00-1-1-01", TRACE + "0", TRACE.upper()):
            assert "traceparent" not in get(service, "/healthz", headers={"traceparent": odd}).headers

    def test_requests_are_counted_by_the_name_of_the_key_and_those_without_one_as_such(self, nice):
        service = served(nice, keys=Keys((("office", digest("key")),)))
        post(service, {"instances": rows_of(table(1))}, headers={"Authorization": "Bearer key"})
        post(service, {"instances": rows_of(table(1))}, headers={"Authorization": "Bearer other"})
        text = service.measures.text().decode()
        assert 'nicecf_requests_total{key="office",model="credit",status="200"} 1.0' in text
        assert metric(service, "nicecf_unauthorized_total") == 1


class TestRevokedKeys:
    @pytest.mark.parametrize("how", ["emptied", "removed", "spoiled"])
    def test_no_key_of_the_file_before_is_accepted(self, nice, tmp_path, caplog, how):
        path = tmp_path / "keys.txt"
        key, line = new_key("desk")
        other, other_line = new_key("other")
        path.write_text(f"{line}\n{other_line}\n")
        service = served(nice, keys_file=str(path), look_every=3600)
        kept = {"emptied": [], "removed": [], "spoiled": [other]}[how]

        async def talk(client):
            if how == "removed":
                path.unlink()
            else:
                path.write_text({"emptied": "", "spoiled": f"{line[:-1]}\n{other_line}\n"}[how])
            await service.look()
            statuses = {}
            for one in (key, other):
                answer = await client.get("/v1/models", headers={"Authorization": f"Bearer {one}"})
                statuses[one] = answer.status_code
            return statuses

        statuses = run(talk, service)
        assert [one for one, status in statuses.items() if status == 200] == kept
        assert f"{len(kept)} keys are accepted" in caplog.text
        assert digest(key)[:20] not in caplog.text


def test_a_key_is_revoked_while_an_explainer_is_being_loaded(nice, tmp_path):
    keys, file = tmp_path / "keys.txt", tmp_path / "credit.nice"
    key, line = new_key("desk")
    keys.write_text(line)
    file.write_text("first")
    opened = threading.Event()
    opened.set()

    def load():
        assert opened.wait(20)
        return nice

    service = Service({"credit": Source(load, (str(file),))}, keys_file=str(keys), look_every=0.02)

    async def talk(client):
        opened.clear()
        file.write_text("second one")
        await asyncio.sleep(0.1)  # by now it is being loaded
        keys.write_text("")
        try:
            await until(lambda: not service.keys.entries)
        finally:
            opened.set()
        return (await client.get("/v1/models", headers={"Authorization": f"Bearer {key}"})).status_code

    assert run(talk, service) == 401


class Failing:
    """The model of these tests, until it fails on every row."""

    def __init__(self):
        self.fails = False
        self.n_calls = 0

    def __call__(self, X):
        self.n_calls += 1
        if self.fails or (X["age"] == 99).any():
            raise RuntimeError("out of order")
        return probabilities(X)


class TestReadiness:
    def test_a_service_whose_model_fails_is_not_ready_until_it_works_again(self, monkeypatch):
        monkeypatch.setattr("nicecf.service.explainers._PROBE_EVERY", 0.0)
        model = Failing()
        service = served(fitted(model, search="greedy"))
        rows = rows_of(table(1, seed=33))

        async def talk(client):
            model.fails = True
            statuses = [(await client.post(EXPLAIN, json={"instances": rows})).status_code for _ in range(3)]
            statuses.append((await client.get("/readyz")).status_code)
            model.fails = False
            statuses.append((await client.get("/readyz")).status_code)
            return statuses

        assert run(talk, service) == [502, 502, 502, 503, 200]

    def test_rows_that_are_at_fault_say_nothing_about_the_model(self):
        model = Failing()
        service = served(fitted(model, search="greedy"))
        bad = rows_of(table(1, seed=33).assign(age=99))

        async def talk(client):
            statuses = [(await client.post(EXPLAIN, json={"instances": bad})).status_code for _ in range(4)]
            n_calls = model.n_calls
            statuses.append((await client.get("/readyz")).status_code)
            statuses.append((await client.get("/readyz")).status_code)
            return statuses, model.n_calls - n_calls

        assert run(talk, service) == ([502, 502, 502, 502, 200, 200], 1)

    def test_a_model_that_is_only_busy_is_ready_and_many_checks_are_one_question(self, monkeypatch):
        monkeypatch.setattr("nicecf.service.explainers._PROBE_SECONDS", 0.2)
        opened, started = threading.Event(), threading.Event()
        opened.set()

        def model(X):
            started.set()
            assert opened.wait(20)
            if (X["age"] == 99).any():
                raise RuntimeError("no")
            return probabilities(X)

        service = served(fitted(model, search="greedy"))
        good, bad = (rows_of(table(1, seed=33).assign(age=age)) for age in (30, 99))

        async def talk(client):
            for _ in range(3):
                await client.post(EXPLAIN, json={"instances": bad})
            started.clear()
            opened.clear()
            slow = asyncio.create_task(client.post(EXPLAIN, json={"instances": good}))
            await until(started.is_set)
            checks = [asyncio.create_task(client.get("/readyz")) for _ in range(20)]
            await until(lambda: len(service.mergers["credit"]) > 0)
            waiting = len(service.mergers["credit"])
            statuses = {(await one).status_code for one in checks}
            opened.set()
            return waiting, statuses, (await slow).status_code

        assert run(talk, service) == (1, {200}, 200)

    def test_an_answer_in_between_ends_the_suspicion(self):
        model = Failing()
        service = served(fitted(model, search="greedy"))
        good, bad = (rows_of(table(1, seed=33).assign(age=age)) for age in (30, 99))

        async def talk(client):
            for rows in (bad, bad, good, bad):
                await client.post(EXPLAIN, json={"instances": rows})
            n_calls = model.n_calls
            return (await client.get("/readyz")).status_code, model.n_calls - n_calls

        assert run(talk, service) == (200, 0)

    def test_a_model_that_was_trained_again_is_not_ready(self):
        model = {"shift": 0.0}
        service = served(
            fitted(lambda X: probabilities(X.assign(income=X["income"] + model["shift"])), search="greedy")
        )
        rows = rows_of(table(1, seed=33))

        async def talk(client):
            model["shift"] = 20.0
            for _ in range(3):
                assert (await client.post(EXPLAIN, json={"instances": rows})).status_code == 502
            return (await client.get("/readyz")).json()

        assert run(talk, service) == {"ready": False, "not_ready": ["credit"]}


class TestOverload:
    def test_a_request_that_waited_for_all_of_its_time_gets_503_and_is_counted(self):
        opened = threading.Event()
        opened.set()
        started = threading.Event()

        def model(X):
            started.set()
            assert opened.wait(20)
            return probabilities(X)

        service = served(fitted(model, search="greedy"))
        rows = rows_of(table(2, seed=34))

        async def talk(client):
            started.clear()
            opened.clear()
            first = asyncio.create_task(client.post(EXPLAIN, json={"instances": rows[:1]}))
            await until(started.is_set)
            late = asyncio.create_task(
                client.post(EXPLAIN, json={"instances": rows[1:], "parameters": {"budget": 0.1, "letter": True}})
            )
            await until(lambda: len(service.mergers["credit"]) == 1)
            await asyncio.sleep(0.2)
            opened.set()
            return await first, await late

        first, late = run(talk, service)
        assert first.status_code == 200
        assert late.status_code == 503
        assert late.headers["Retry-After"].isdigit()
        assert "try again later" in late.json()["error"]
        assert metric(service, "nicecf_refused_total") == 1
        assert metric(service, "nicecf_not_found_total") == 0

    def test_a_search_that_was_stopped_early_says_so_and_is_counted_apart(self, nice):
        service = served(nice)
        rules = {"immutable": ["age", "job", "is_customer", "since"]}
        parameters = {"rules": rules, "budget": 1e-9, "letter": True}
        answer = post(service, {"instances": rows_of(table(5, seed=35)), "parameters": parameters}).json()
        stopped = [one for one in answer["explanations"] if not one["found"]]
        assert stopped
        assert all(one["stopped_early"] and one["notes"] for one in stopped)
        assert not any("found none" in one["letter"] for one in stopped)
        assert metric(service, "nicecf_stopped_early_total") == 5
        assert metric(service, "nicecf_not_found_total") == 0
        complete = post(service, {"instances": rows_of(table(1, seed=35))}).json()["explanations"][0]
        assert "stopped_early" not in complete


class TestNumbers:
    def test_a_model_of_single_precision_has_its_limit_at_the_border(self):
        def single(X):
            with np.errstate(over="ignore"):
                if not np.isfinite(X[["age", "income"]].to_numpy(float).astype(np.float32)).all():
                    raise ValueError("Input X contains infinity or a value too large for dtype('float32').")
            return probabilities(X)

        service = served(fitted(single, search="greedy"))
        (row,) = rows_of(table(1, seed=36))
        answer = post(service, {"instances": [row | {"income": 1e39}]})
        assert answer.status_code == 400
        assert answer.json()["error"] == (
            "instances[0].income: the number is too large, got 1e+39; it can be at most 3.4e+38"
        )
        assert post(service, {"instances": [row | {"income": 1e38}]}).status_code == 200

    def test_another_model_takes_what_tables_take(self, nice):
        (row,) = rows_of(table(1, seed=36))
        assert post(served(nice), {"instances": [row | {"income": 1e39}]}).status_code == 200


class TestOneRequest:
    """What a request of a megabyte can ask for."""

    @pytest.mark.parametrize(
        ("rules", "field"),
        [
            ({"immutable": ["age"] * 10_001}, "immutable"),
            ({"increasing": {"job": ["clerk"] * 1_001}}, "increasing"),
            ({"allowed": {"job": ["clerk"] * 10_001}}, "allowed"),
            ({"forbid": {"job": [["clerk", "nurse"]] * 1_001}}, "forbid"),
            ({"groups": [["age", "income"]] * 1_001}, "groups"),
            ({"within": {"age": [1, 2, 3]}}, "within"),
        ],
        ids=lambda one: one if isinstance(one, str) else "",
    )
    def test_lists_in_rules_are_bounded(self, nice, rules, field):
        answer = post(served(nice), {"instances": rows_of(table(1)), "parameters": {"rules": rules}})
        assert answer.status_code == 400
        assert answer.json()["error"].startswith(f"parameters.rules.{field}")

    def test_rules_are_checked_outside_the_event_loop(self, nice, monkeypatch):
        threads = []
        service = served(nice)
        version = type(service.versions["credit"])
        arguments = version.arguments

        def remembered(self, parameters):
            threads.append(threading.current_thread())
            return arguments(self, parameters)

        monkeypatch.setattr(version, "arguments", remembered)
        assert post(service, {"instances": rows_of(table(1))}).status_code == 200
        assert threads
        assert threading.main_thread() not in threads

    def test_a_name_is_looked_up_and_not_searched_for(self, nice):
        """However many columns there are, those of a rule take no more time for it."""
        reader = served(nice).versions["credit"].reader
        reader.named("age", "")
        made = reader._positions
        reader.named("income", "")
        assert reader._positions is made

    @pytest.mark.parametrize(
        "parameters",
        [{"target": "t" * 900_000}, {"rules": {"immutable": ["f" * 900_000]}}, {"optimize": "o" * 900_000}],
    )
    def test_what_is_long_is_not_sent_back(self, nice, parameters):
        answer = post(served(nice), {"instances": rows_of(table(1)), "parameters": parameters})
        assert answer.status_code == 400
        assert len(answer.content) < 3_000

    def test_no_more_than_a_few_files_are_read_at_once(self, nice):
        service = served(nice)
        content = table(3).to_csv(index=False).encode()

        async def talk(client):
            sent = asyncio.Event()

            async def slowly():
                yield content[:10]
                await sent.wait()
                yield content[10:]

            headers = {"Content-Type": "text/csv"}
            path = "/v1/models/credit:read"
            slow = [asyncio.create_task(client.post(path, content=slowly(), headers=headers)) for _ in range(4)]
            await until(service.uploads.locked)
            refused = await client.post(path, content=content, headers=headers)
            sent.set()
            return refused, [one.status_code for one in await asyncio.gather(*slow)]

        refused, others = run(talk, service)
        assert refused.status_code == 429
        assert refused.headers["Retry-After"].isdigit()
        assert others == [200] * 4

    def test_two_lengths_are_refused(self, nice):
        headers = {"Content-Length": "2", "Transfer-Encoding": "chunked"}
        answer = get(served(nice), "/healthz", headers=headers)
        assert answer.status_code == 400
        assert answer.headers["connection"] == "close"
        assert "not both" in answer.json()["error"]

    @pytest.mark.parametrize(
        "parameters",
        [{"rules": {"step": {"income": 10**400}}}, {"target_score": [10**400, None]}],
        ids=["step", "score"],
    )
    def test_whole_numbers_that_no_float_holds_are_refused(self, nice, parameters):
        answer = post(served(nice), {"instances": rows_of(table(1)), "parameters": parameters})
        assert answer.status_code == 400
        assert "parameters." in answer.json()["error"]

    def test_a_slash_at_the_end_is_no_redirect_to_wherever_the_request_says(self, nice):
        answer = get(
            served(nice, keys=Keys((("a", digest("k")),))),
            "/healthz/",
            headers={"Host": "evil.example", "Authorization": "Bearer k"},
        )
        assert answer.status_code == 404
        assert "location" not in answer.headers
