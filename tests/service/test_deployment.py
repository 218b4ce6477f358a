"""The Containerfile and the InferenceService: what they run is run here, as far as that needs no container."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import skops.io
import yaml
from sklearn.ensemble import RandomForestClassifier

from nicecf import NICE
from nicecf.cli import _parser, main
from nicecf.service.keys import Keys
from service.conftest import get, served
from service.test_serve import Process, ask

ROOT = Path(__file__).parents[2]
SERVICE = yaml.safe_load((ROOT / "docs" / "kserve.yaml").read_text("utf-8"))
POD = SERVICE["spec"]["predictor"]
(CONTAINER,) = POD["containers"]


def instructions():
    """The lines of the Containerfile by their instruction; each stands there once."""
    text = (ROOT / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line and not line.startswith("#")]
    assert len({name for name, _ in lines}) == len(lines)
    return dict(lines)


FILE = instructions()
BEGIN = json.loads(FILE["ENTRYPOINT"])


def options_of(arguments):
    return _parser().parse_args([*BEGIN[1:], *arguments])


class TestInferenceService:
    def test_it_is_a_predictor_of_one_container_by_the_name_that_kserve_looks_for(self):
        assert (SERVICE["apiVersion"], SERVICE["kind"]) == ("serving.kserve.io/v1beta1", "InferenceService")
        assert list(SERVICE["spec"]) == ["predictor"]
        assert CONTAINER["name"] == "kserve-container"
        assert "command" not in CONTAINER  # the entry point of the image

    def test_the_command_understands_its_arguments_and_listens_where_it_is_asked(self):
        options = options_of(CONTAINER["args"])
        assert (options.host, str(options.port)) == ("0.0.0.0", FILE["EXPOSE"])
        assert [port["containerPort"] for port in CONTAINER["ports"]] == [options.port]
        assert options.keys is not None  # without, that address is refused
        assert POD["terminationGracePeriodSeconds"] > options.time_limit + options.patience

    def test_its_probes_are_routes_that_need_no_key(self, nice):
        service = served(nice, keys=Keys())
        probes = {name: CONTAINER[name]["httpGet"] for name in ("startupProbe", "readinessProbe", "livenessProbe")}
        assert [one["path"] for one in probes.values()] == ["/healthz", "/readyz", "/healthz"]
        for one in probes.values():
            assert str(one["port"]) == FILE["EXPOSE"]
            # Of the kubelet: the address of the pod.
            assert get(service, one["path"], headers={"Host": "10.1.2.3:8000"}).status_code == 200

    def test_all_that_it_reads_is_mounted_and_all_that_is_mounted_is_there(self):
        mounts = {one["name"]: one["mountPath"] for one in CONTAINER["volumeMounts"]}
        assert set(mounts) == {one["name"] for one in POD["volumes"]}
        assert all(one["readOnly"] for one in CONTAINER["volumeMounts"])
        assert mounts["served"] == FILE["WORKDIR"]
        paths = [one.rpartition("=")[2] for one in CONTAINER["args"] if "/" in one]
        assert len(paths) == 3
        assert all(any(path.startswith(f"{mount}/") for mount in mounts.values()) for path in paths)

    def test_it_is_not_root_and_has_nothing_to_write_to(self):
        assert POD["securityContext"]["runAsNonRoot"]
        assert str(POD["securityContext"]["runAsUser"]) == FILE["USER"]
        assert f"useradd --uid {FILE['USER']} " in FILE["RUN"]
        security = CONTAINER["securityContext"]
        assert security["readOnlyRootFilesystem"]
        assert not security["allowPrivilegeEscalation"]
        assert security["capabilities"] == {"drop": ["ALL"]}

    def test_what_it_says_serves_a_forest(self, tmp_path, capsys):
        """The very arguments, with files in another folder, an address of this machine and a free port."""
        from service import conftest

        X = conftest.table()[["age", "income"]]
        y = (X["income"] > 40).map({True: "yes", False: "no"})
        model = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)
        skops.io.dump(model, tmp_path / "model.skops")
        NICE(model, search="greedy").fit(X, y).save(tmp_path / "credit.nice")
        assert main(["serve", "--keys", str(tmp_path / "keys.txt"), "--new-key", "desk"]) == 0
        key = capsys.readouterr().out.splitlines()[0]
        arguments = [re.sub(r"/(served|keys)/", f"{tmp_path}/", one) for one in CONTAINER["args"]]
        arguments[arguments.index("0.0.0.0")] = "127.0.0.1"
        with Process(*arguments, folder=tmp_path) as running:  # which adds --port 0
            for name in ("startupProbe", "readinessProbe", "livenessProbe"):
                assert ask(running.address, CONTAINER[name]["httpGet"]["path"])
            address = f"{running.address}/v1/models/credit:explain"
            body = json.dumps({"instances": [{"age": 30, "income": 20.0}]}).encode()
            headers = {"Content-Type": "application/json"}
            with pytest.raises(urllib.error.HTTPError, match="401"):
                urllib.request.urlopen(urllib.request.Request(address, body, headers))
            request = urllib.request.Request(address, body, {**headers, "Authorization": f"Bearer {key}"})
            with urllib.request.urlopen(request, timeout=30) as answer:
                (explanation,) = json.load(answer)["explanations"]
            assert explanation["found"]
            assert explanation["counterfactuals"][0]["decision"] == "yes"


class TestContainerfile:
    def test_it_installs_the_wheel_with_the_extra_of_the_service_and_runs_the_command(self):
        project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
        (extra,) = re.findall(r'pip install --no-cache-dir "\$\(ls /tmp/nicecf-\*\.whl\)\[(\w+)\]"', FILE["RUN"])
        assert extra == "serve"
        assert extra in project["optional-dependencies"]
        assert BEGIN[0] in project["scripts"]
        assert FILE["COPY"].split() == [f"dist/{project['name']}-*.whl", "/tmp/"]

    def test_the_command_understands_what_it_runs_by_default_and_what_the_page_runs(self):
        assert options_of(json.loads(FILE["CMD"])).demo
        page = (ROOT / "docs" / "service.md").read_text("utf-8")
        (run,) = re.findall(r"^podman run .* nicecf (.*)$", page, re.MULTILINE)
        options = options_of(shlex.split(run))
        assert (options.host, options.keys is None) == ("0.0.0.0", False)
        (ports,) = re.findall(r"^podman run -p (\S+) ", page, re.MULTILINE)
        assert ports.split(":")[1] == FILE["EXPOSE"] == str(options.port)

    @pytest.mark.deep
    def test_the_wheel_is_built_installed_and_serves(self, tmp_path):
        """The steps of the page and of the Containerfile, in an environment of their own."""
        page = (ROOT / "docs" / "service.md").read_text("utf-8")
        (build,) = re.findall(r"^pip wheel .*$", page, re.MULTILINE)
        source = tmp_path / "source"
        shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, source)
        subprocess.run([sys.executable, "-m", "venv", tmp_path / "python"], check=True)
        scripts = tmp_path / "python" / "bin"
        clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        environment = {**clean, "PATH": f"{scripts}{os.pathsep}{os.environ['PATH']}", **variables()}
        subprocess.run(shlex.split(build), cwd=source, env=environment, check=True)
        copied, to = FILE["COPY"].split()
        for wheel in source.glob(copied):
            shutil.copy(wheel, tmp_path)
        install, remove, add_user = FILE["RUN"].split("&&")
        assert add_user.split()[0] == "useradd"  # the user of this test is nobody to make others
        for command in (install, remove):
            subprocess.run(["sh", "-c", command.replace(to, f"{tmp_path}/")], env=environment, check=True)
        folder = tmp_path / "served"
        folder.mkdir()
        command = [*BEGIN, *json.loads(FILE["CMD"]), "--port", "0"]
        running = subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            said = ""
            while (found := re.search(r"at (http://127\.0\.0\.1:\d+)\n", said)) is None:
                line = running.stdout.readline()
                assert line, said
                said += line
            assert ask(found[1], CONTAINER["readinessProbe"]["httpGet"]["path"]) == {"ready": True}
            examples = ask(found[1], "/v1/models/loans/example")
            rows = {"instances": examples["instances"][:2]}
            assert all(one["found"] for one in ask(found[1], "/v1/models/loans:explain", rows)["explanations"])
        finally:
            running.terminate()
            running.communicate(timeout=60)
        assert running.returncode == 0


def variables():
    """What ENV sets."""
    return dict(one.split("=") for one in FILE["ENV"].split())
