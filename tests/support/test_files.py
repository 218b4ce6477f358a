"""A file is written in one step: all of it or nothing, and what cannot be written is said in one line."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nicecf.exceptions import FileError, OptionError
from nicecf.support.files import check_writable, existing, writing

needs_posix = pytest.mark.skipif(os.name != "posix", reason="modes and devices of POSIX systems")


def put(path: Path | str, content: bytes = b"new") -> None:
    with writing(path) as file:
        file.write(content)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_there_and_nothing_else(tmp_path):
    put(tmp_path / "a.bin", b"\x00\x01")
    assert (tmp_path / "a.bin").read_bytes() == b"\x00\x01"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_a_file_in_the_current_folder_needs_no_folder_in_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put("a.bin")
    assert (tmp_path / "a.bin").read_bytes() == b"new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_a_block_that_ends_badly_leaves_what_was_there(tmp_path, error):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")

    def broken(target: Path) -> None:
        with writing(target) as file:
            file.write(b"half" * 100_000)
            raise error

    with pytest.raises(error):
        broken(path)
    with pytest.raises(error):
        broken(tmp_path / "b.bin")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["a.bin"]


def test_nothing_is_to_be_seen_before_the_end(tmp_path):
    path = tmp_path / "a.bin"
    with writing(path) as file:
        file.write(b"half" * 100_000)
        file.flush()
        assert not path.exists()
        (unfinished,) = os.listdir(tmp_path)
        assert unfinished.startswith(".")
    assert os.listdir(tmp_path) == ["a.bin"]


def test_whoever_writes_may_close_the_file(tmp_path):
    with writing(tmp_path / "a.bin") as file:
        file.write(b"new")
        file.close()
    assert (tmp_path / "a.bin").read_bytes() == b"new"


@needs_posix
def test_a_new_file_gets_the_mode_that_any_new_file_gets(tmp_path):
    before = os.umask(0o027)
    try:
        put(tmp_path / "a.bin")
        (tmp_path / "b.bin").write_bytes(b"")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "a.bin") == mode_of(tmp_path / "b.bin") == 0o640


@needs_posix
def test_a_file_that_is_there_keeps_its_mode(tmp_path):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o600)
    put(path)
    assert (path.read_bytes(), mode_of(path)) == (b"new", 0o600)


@needs_posix
def test_a_link_stays_and_what_it_points_to_is_written(tmp_path):
    (tmp_path / "elsewhere").mkdir()
    target = tmp_path / "elsewhere" / "a.bin"
    link = tmp_path / "link"
    link.symlink_to("elsewhere/a.bin")
    put(link)
    put(link, b"newer")
    assert link.is_symlink()
    assert target.read_bytes() == b"newer"
    assert os.listdir(tmp_path / "elsewhere") == ["a.bin"]


@pytest.mark.parametrize("act", [put, check_writable])
def test_a_path_that_cannot_be_written_is_said_in_one_line(tmp_path, act):
    (tmp_path / "file").write_bytes(b"old")
    loop = tmp_path / "loop"
    loop.symlink_to("loop")
    refused = {
        "": "the path of a file to write is empty",
        tmp_path: "is a folder; give the path of a file",
        tmp_path / "nowhere" / "a": f"there is no folder {tmp_path / 'nowhere'}. Make it first",
        tmp_path / "file" / "a": f"{tmp_path / 'file'} is not a folder",
        tmp_path / ("a" * 300): "file name too long",
        loop: "cannot be written",
    }
    for path, message in refused.items():
        with pytest.raises(FileError) as error:
            act(path)
        assert message in str(error.value)
        assert "\n" not in str(error.value)
        assert str(error.value).endswith(".")
    assert sorted(os.listdir(tmp_path)) == ["file", "loop"]


@pytest.mark.skipif(not Path("/proc/version").exists(), reason="a folder that not even root may write to is in /proc")
@pytest.mark.parametrize("act", [put, check_writable])
def test_a_folder_without_permission_is_said_in_one_line(act):
    with pytest.raises(FileError, match=r"^/proc/nicecf.out cannot be written: .*Give (a|another) path"):
        act("/proc/nicecf.out")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
@pytest.mark.parametrize("act", [put, check_writable])
def test_a_protected_file_or_folder_is_left_alone(tmp_path, act):
    path = tmp_path / "a.bin"
    path.write_bytes(b"old")
    path.chmod(0o400)
    with pytest.raises(FileError, match="it is protected"):
        act(path)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(FileError, match="permission denied"):
            act(tmp_path / "b.bin")
    finally:
        tmp_path.chmod(0o700)
    assert path.read_bytes() == b"old"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a disk that is always full")
def test_a_full_disk_is_said_in_one_line():
    with pytest.raises(FileError, match="^/dev/full cannot be written: the disk is full. Free some space"):
        put("/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_disk_that_fills_up_leaves_nothing(tmp_path, monkeypatch):
    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(FileError, match="the disk is full"):
        put(tmp_path / "a.bin")
    assert os.listdir(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/null").exists(), reason="a device")
def test_a_device_is_written_to_and_not_replaced():
    put("/dev/null")
    check_writable("/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_an_error_of_whoever_makes_the_contents_is_their_own(tmp_path):
    with pytest.raises(FileNotFoundError), writing(tmp_path / "a.bin"):
        (tmp_path / "no such file").read_bytes()
    assert os.listdir(tmp_path) == []


@pytest.mark.deep
@needs_posix
def test_an_interrupted_process_leaves_nothing(tmp_path):
    code = (
        "import sys, time\nfrom nicecf.support.files import writing\n"
        "with writing(sys.argv[1]) as file:\n"
        "    file.write(b'half' * 100_000); file.flush(); print('writing', flush=True); time.sleep(60)\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path / "a.bin")], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        assert len(os.listdir(tmp_path)) == 1
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)
    assert os.listdir(tmp_path) == []


# ---- what a killed process leaves, who may read it, and links that lead nowhere

WRITES_FOREVER = (
    "import sys, time\nfrom nicecf.support.files import writing\n"
    "with writing(sys.argv[1]) as file:\n"
    "    file.write(b'training rows'); file.flush(); print('writing', flush=True); time.sleep(600)\n"
)


@contextmanager
def writing_process(path: Path) -> Iterator[subprocess.Popen[bytes]]:
    command = [sys.executable, "-c", WRITES_FOREVER, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == b"writing\n"
            yield process
        finally:
            process.kill()


@pytest.mark.deep
@needs_posix
def test_what_a_killed_process_leaves_is_removed_by_the_next_write_and_nothing_else(tmp_path):
    others = [".nicecf-0123456789abcdef.tmp.txt", ".nicecf-x.tmp", "nicecf-0123456789abcdef.tmp"]
    for name in others:
        (tmp_path / name).write_bytes(b"of somebody else")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_bytes(b"of somebody else")
    (tmp_path / ".nicecf-00000000000000aa.tmp").symlink_to(elsewhere)
    os.mkfifo(tmp_path / ".nicecf-00000000000000bb.tmp")
    kept = sorted(os.listdir(tmp_path))
    with writing_process(tmp_path / "killed") as killed, writing_process(tmp_path / "alive") as alive:
        killed.send_signal(signal.SIGKILL)
        killed.wait(timeout=30)
        assert len(os.listdir(tmp_path)) == len(kept) + 2
        put(tmp_path / "a.bin")
        (unfinished,) = set(os.listdir(tmp_path)) - {*kept, "a.bin"}
        assert (tmp_path / unfinished).read_bytes() == b"training rows"
        put(tmp_path / "a.bin")
        assert (tmp_path / unfinished).exists()
        alive.send_signal(signal.SIGINT)
        alive.wait(timeout=30)
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "a.bin"])


@needs_posix
def test_files_that_are_written_at_the_same_time_do_not_remove_each_other(tmp_path):
    with writing(tmp_path / "a.bin") as one:
        one.write(b"one")
        with writing(tmp_path / "b.bin") as other:
            other.write(b"other")
            put(tmp_path / "c.bin")
    assert {name: (tmp_path / name).read_bytes() for name in os.listdir(tmp_path)} == {
        "a.bin": b"one", "b.bin": b"other", "c.bin": b"new",
    }  # fmt: skip


@needs_posix
def test_a_file_that_is_taken_for_left_over_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    import fcntl

    from nicecf.support import files

    lock, removed = fcntl.flock, []

    def late(descriptor: int, how: int) -> None:
        if not removed:
            (removed_name,) = os.listdir(tmp_path)
            os.unlink(tmp_path / removed_name)
            removed.append(removed_name)
        lock(descriptor, how)

    monkeypatch.setattr(files.fcntl, "flock", late)
    put(tmp_path / "a.bin")
    assert removed
    assert os.listdir(tmp_path) == ["a.bin"]


@needs_posix
@pytest.mark.parametrize("mode", [None, 0o644])
def test_nobody_else_may_read_what_is_not_finished(tmp_path, mode):
    path = tmp_path / "a.bin"
    if mode is not None:
        path.write_bytes(b"old")
        path.chmod(mode)
    before = os.umask(0o022)
    try:
        with writing(path) as file:
            file.write(b"training rows")
            (unfinished,) = set(os.listdir(tmp_path)) - {"a.bin"}
            assert mode_of(tmp_path / unfinished) == 0o600
    finally:
        os.umask(before)
    assert mode_of(path) == 0o644


@needs_posix
@pytest.mark.parametrize("act", [put, check_writable, existing])
def test_a_link_to_nothing_is_named_and_not_the_folder(tmp_path, act):
    (tmp_path / "link").symlink_to("nowhere/a.bin")
    (tmp_path / "folder").symlink_to("nowhere")
    for path, link, target in [("link", "link", "nowhere/a.bin"), ("folder/a.bin", "folder", "nowhere")]:
        with pytest.raises(FileError) as error:
            act(tmp_path / path)
        assert f"{tmp_path / link} is a link to {target}, which does not exist. Mend the link" in str(error.value)
        assert "permission" not in str(error.value)


@pytest.mark.parametrize("act", [put, check_writable, existing])
@pytest.mark.parametrize("path", [5, None, b"x", "a\0b"])
def test_what_is_no_path_is_refused_for_reading_and_for_writing(act, path):
    with pytest.raises(OptionError, match="path"):
        act(path)
