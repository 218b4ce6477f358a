"""Files that change while requests go on, keys, and examples."""

import asyncio
import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from nicecf import NICE, Constraints, FileError, OptionError
from nicecf.service.examples import examples_of
from nicecf.service.explainers import Service, Source
from nicecf.service.keys import Keys, digest, new_key
from nicecf.service.rows import RowReader
from service.conftest import EXPLAIN, explained, fitted, probabilities, rows_of, run, served, table


def file_source(path):
    return Source(lambda: NICE.load(path, model=probabilities), (str(path),))


def test_a_changed_file_is_taken_up_and_no_request_is_dropped(tmp_path):
    path = tmp_path / "credit.nice"
    fitted(search="greedy").save(path)
    service = Service({"credit": file_source(path)}, look_every=3600)
    rows = rows_of(table(6, seed=30))

    async def talk(client):
        async def ask():
            return [await client.post(EXPLAIN, json={"instances": [row]}) for row in rows for _ in range(3)]

        asking = [asyncio.create_task(ask()) for _ in range(2)]
        before = (await client.get("/v1/models/credit")).json()["optimize"]
        fitted(search="greedy", optimize="proximity").save(path)
        await service.look()
        after = (await client.get("/v1/models/credit")).json()["optimize"]
        answers = [one for some in await asyncio.gather(*asking) for one in some]
        return before, after, {answer.status_code for answer in answers}

    assert run(talk, service) == ("sparsity", "proximity", {200})
    assert 'nicecf_reloads_total{model="credit",result="done"} 1.0' in service.measures.text().decode()


def test_a_request_is_answered_by_the_version_that_checked_it(tmp_path):
    """The new file has other columns: what was checked by the old ones would not fit."""
    path = tmp_path / "credit.nice"
    fitted(search="greedy").save(path)
    service = Service({"credit": file_source(path)}, look_every=3600)
    old = service.versions["credit"]

    async def talk(client):
        put = service.mergers["credit"].put

        def put_and_swap(waiting):
            service.versions["credit"] = None  # whoever looks it up again fails
            put(waiting)

        service.mergers["credit"].put = put_and_swap
        answer = await client.post(EXPLAIN, json={"instances": rows_of(table(1))})
        service.versions["credit"] = old
        return answer.status_code

    assert run(talk, service) == 200


def test_a_file_that_cannot_be_loaded_changes_nothing(tmp_path, caplog):
    path = tmp_path / "credit.nice"
    fitted(search="greedy").save(path)
    service = Service({"credit": file_source(path)}, look_every=3600)

    async def talk(client):
        path.write_bytes(b"half a file")
        await service.look()
        os.remove(path)
        await service.look()
        return (await client.post(EXPLAIN, json={"instances": rows_of(table(1))})).status_code

    assert run(talk, service) == 200
    assert 'nicecf_reloads_total{model="credit",result="failed"} 1.0' in service.measures.text().decode()
    assert "credit: its changed file was not taken up" in caplog.text


def test_the_service_looks_for_changes_by_itself(tmp_path):
    path = tmp_path / "credit.nice"
    fitted(search="greedy").save(path)
    service = Service({"credit": file_source(path)}, look_every=0.01)

    async def talk(client):
        fitted(search="greedy", optimize="proximity").save(path)
        for _ in range(1_000):
            if service.versions["credit"].nice.optimize == "proximity":
                return True
            await asyncio.sleep(0.01)

    assert run(talk, service)


class TestWordings:
    @staticmethod
    def files(folder, **texts):
        for name, text in texts.items():
            (folder / f"{name}.toml").write_text(text, "utf-8")
        return tuple(str(folder / f"{name}.toml") for name in texts)

    def test_each_is_for_the_language_that_it_says(self, nice, tmp_path):
        files = self.files(
            tmp_path,
            deutsch='language = "de"\n[names]\nincome = "Einkommen"\n[classes]\nyes = "bewilligt"\n',
            english='[names]\nincome = "the income"\n',
        )
        service = Service({"credit": Source(lambda: nice, wordings=files)})
        assert list(service.versions["credit"].wordings) == ["en", "de"]
        texts = {one: explained(service, table(1, seed=1), language=one)[0]["text"] for one in ("en", "de")}
        assert "the income were" in texts["en"]
        assert "Einkommen" in texts["de"]
        assert "bewilligt" in texts["de"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ('[names]\nincom = "x"\n', r"en\.toml: names of the wording refers to the feature 'incom', which does not exist.*Did you mean 'income'"),
            ('[classes]\nmaybe = "x"\n', r"en\.toml: classes of the wording refers to the class 'maybe'"),
            ('[name]\nincome = "x"\n', r"en\.toml has the key 'name', which is not known"),
            ("[names", r"en\.toml is not TOML"),
            ('language = "de"\n', r"de\.toml and .*en\.toml are for the same language, 'de'; use one"),
            ('language = "fr"\n', "language='fr' is not known"),
        ],
    )  # fmt: skip
    def test_one_that_does_not_fit_is_an_error_at_the_start(self, nice, tmp_path, text, message):
        files = self.files(tmp_path, de='language = "de"\n', en=text)
        with pytest.raises(OptionError, match=message):
            Service({"credit": Source(lambda: nice, wordings=files)})

    def test_a_language_of_ones_own_is_not_spoken_by_the_service(self, nice, tmp_path):
        from nicecf.support import phrases

        (tmp_path / "mine.toml").write_text(Path(phrases.__file__).with_name("en.toml").read_text("utf-8"), "utf-8")
        files = self.files(tmp_path, words='language = "mine.toml"\n')
        with pytest.raises(
            OptionError, match=r"words\.toml is for the language '.*mine\.toml', which the service does not"
        ):
            Service({"credit": Source(lambda: nice, wordings=files)})

    def test_what_is_wrong_in_a_file_is_said_before_the_work(self, tmp_path):
        files = self.files(tmp_path, en="[names")
        with pytest.raises(OptionError, match="is not TOML"):
            Service({"credit": Source(lambda: 1 / 0, wordings=files)})

    def test_a_changed_file_is_taken_up_unless_it_does_not_fit(self, nice, tmp_path, caplog):
        (path,) = self.files(tmp_path, en='[names]\nincome = "first"\n')
        service = Service({"credit": Source(lambda: nice, wordings=(path,))}, look_every=3600)

        async def talk(client):
            async def title():
                schema = (await client.get("/v1/models/credit/schema")).json()
                return schema["features"][1]["title"]

            titles = [await title()]
            for text in ('[names]\nincome = "second one"\n', '[names]\nincom = "third"\n'):
                self.files(tmp_path, en=text)
                await service.look()
                titles.append(await title())
            return titles

        assert run(talk, service) == ["first", "second one", "second one"]
        assert "credit: its changed file was not taken up" in caplog.text
        assert "refers to the feature 'incom'" in caplog.text


def test_a_name_that_no_path_could_have_is_refused(nice):
    with pytest.raises(OptionError, match="'a/b' cannot be the name of an explainer"):
        Service({"a/b": Source(lambda: nice)})


class TestKeys:
    def test_a_file_keeps_digests_and_changes_are_taken_up(self, nice, tmp_path):
        path = tmp_path / "keys.txt"
        key, line = new_key("desk")
        path.write_text(f"# who may ask\n\n{line}\n")
        assert key not in path.read_text()
        service = served(nice, keys_file=str(path), look_every=3600)

        async def talk(client):
            other, other_line = new_key("other")
            statuses = [await self.status(client, one) for one in (key, other)]
            path.write_text(f"{other_line}\n")
            await service.look()
            return statuses + [await self.status(client, one) for one in (key, other)]

        assert run(talk, service) == [200, 401, 401, 200]

    @staticmethod
    async def status(client, key):
        return (await client.get("/v1/models", headers={"Authorization": f"Bearer {key}"})).status_code

    @pytest.mark.parametrize(
        ("text", "message"),
        [("secret-key\n", r"line 1, is not of the form name:sha256:digest"), ("# nothing\n", "contains no keys")],
    )
    def test_what_is_no_file_of_keys_is_refused_and_not_shown(self, tmp_path, text, message):
        path = tmp_path / "keys.txt"
        path.write_text(text)
        with pytest.raises(FileError, match=message) as refused:
            Keys.of_file(path)
        assert "secret" not in str(refused.value)

    def test_all_keys_are_compared_whichever_it_is(self, monkeypatch):
        compared = []
        monkeypatch.setattr("nicecf.service.keys.hmac.compare_digest", lambda a, b: compared.append(b) or a == b)
        keys = Keys((("A", digest("a")), ("B", digest("b")), ("C", digest("c"))))
        assert keys.name_of("a") == "A"
        assert compared == [one for _, one in keys.entries]

    def test_a_name_with_a_colon_is_refused(self):
        with pytest.raises(FileError, match="cannot be the name of a key"):
            new_key("a:b")


class TestExamples:
    def test_of_a_guarded_explainer_they_have_no_rare_value(self):
        nice = fitted(min_count=5, share_donor=False)
        examples = examples_of(nice, RowReader.of(nice._fitted.schema.full))
        ages = table()["age"].value_counts()
        assert examples
        assert {one["job"] for one in examples} <= {"clerk", "nurse", "smith"}
        assert not {tuple(one.values()) for one in examples} & {tuple(row.values()) for row in rows_of(table())}
        assert ages.min() < 5  # otherwise there is nothing to guard

    def test_they_keep_what_the_explainer_and_all_training_rows_keep(self):
        rng = np.random.default_rng(0)
        X = pd.DataFrame(rng.integers(0, 100, (300, 6)), columns=["paid_min", "debt", *"abcd"])
        X["paid_max"] = X["paid_min"] + rng.integers(0, 30, 300)
        X["income"] = X["debt"] + rng.integers(0, 30, 300)
        y = np.where(X["debt"] < 40, "yes", "no")
        yes = lambda X: (X["debt"] < 40).to_numpy(float)
        model = lambda X: np.column_stack([1 - yes(X), yes(X)])
        nice = NICE(model, classes=["no", "yes"], constraints=Constraints(relations=["debt <= income"])).fit(X, y)
        rows = pd.DataFrame(examples_of(nice, RowReader.of(nice._fitted.schema.full)))
        assert len(rows) == 36
        assert (rows["debt"] <= rows["income"]).all()  # the rule
        assert (rows["paid_min"] <= rows["paid_max"]).all()  # what all training rows show

    def test_they_are_of_all_decisions_by_turns(self):
        """However rare a decision is, it is among the first of them."""
        nice = fitted(lambda X: probabilities(X.assign(income=X["income"] - 24)))
        service = served(nice)
        decisions = [one["decision"] for one in explained(service, service.versions["credit"].examples)]
        assert decisions[:4] == ["yes", "no", "yes", "no"]
        assert np.mean(nice.explain(table()).predicted == "yes") < 1 / 3

    def test_an_array_has_examples_too(self):
        X = np.random.default_rng(0).normal(size=(60, 3)).round(2)
        nice = NICE(
            lambda X: np.column_stack([X[:, 0] < 0, X[:, 0] >= 0]).astype(float), classes=[0, 1], search="greedy"
        )
        service = served(nice.fit(X, (X[:, 0] >= 0).astype(int)))

        async def talk(client):
            examples = (await client.get("/v1/models/credit/example")).json()
            answer = await client.post(
                EXPLAIN, json={**examples, "parameters": {"target": 1, "rules": {"immutable": ["x1"]}}}
            )
            return examples, answer.json()

        examples, answer = run(talk, service)
        assert list(examples["instances"][0]) == ["x0", "x1", "x2"]
        assert all(one["counterfactuals"][0]["decision"] == 1 for one in answer["explanations"])

    def test_of_a_regressor_the_example_names_scores(self):
        X = np.random.default_rng(0).normal(size=(60, 2)).round(2)
        y = X[:, 0] * 10
        service = served(NICE(LinearRegression().fit(X, y)).fit(X, y))

        async def talk(client):
            document = (await client.get("/openapi.json")).json()
            example = document["paths"][EXPLAIN]["post"]["requestBody"]["content"]["application/json"]["example"]
            without = await client.post(EXPLAIN, json={"instances": example["instances"]})
            return example, (await client.post(EXPLAIN, json=example)).json(), without

        example, answer, without = run(talk, service)
        low = example["parameters"]["target_score"][0]
        assert answer["explanations"][0]["counterfactuals"][0]["score"] >= low
        assert without.status_code == 400
        assert "target_score" in without.json()["error"]


@pytest.mark.deep
def test_drawn_rows_combine_what_goes_together():
    """Columns are drawn one by one; a row whose values belong to different training rows is not shown."""
    random = np.random.default_rng(0)
    age = random.integers(20, 60, 400)
    X = pd.DataFrame({"age": age, "years": age - 18, "income": random.integers(20, 80, 400)})
    nice = NICE(lambda X: np.column_stack([X["income"] > 40, X["income"] <= 40]).astype(float)).fit(
        X, X["income"] <= 40
    )
    examples = pd.DataFrame(examples_of(nice, RowReader.of(nice._fitted.schema.full)))
    assert len(examples) >= 24
    assert (examples["age"] - examples["years"]).between(12, 24).all()
