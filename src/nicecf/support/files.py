"""Files: read if they are there, and written in one step, so that all is there or what was before."""

from __future__ import annotations

import errno
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import Any, BinaryIO

from nicecf.exceptions import FileError, OptionError, did_you_mean

# Windows has no such locks.
fcntl: Any = import_module("fcntl") if os.name == "posix" else None

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
# Of what goes wrong while a file is written, what is the disk's doing and not that of whoever makes the contents.
_OF_THE_DISK = {*_FULL, errno.EIO, errno.EFBIG, errno.EROFS}
_UNFINISHED = re.compile(r"\.nicecf-[0-9a-f]{16}\.tmp")


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to, which becomes ``path`` when the block ends well; raises FileError if that fails.

    The bytes go to a file beside it, which nobody else may read, is put on the disk and then renamed. If the block
    raises, also by Ctrl-C, that file is removed; one that a killed process left is removed by the next write into the
    folder. A file that is there keeps its mode, a link keeps pointing where it does. What is no file (a terminal, a
    pipe, /dev/null) is written to as it is.

    >>> import tempfile
    >>> path = tempfile.mkdtemp() + "/answer"
    >>> with writing(path) as file:
    ...     _ = file.write(b"42")
    >>> os.listdir(os.path.dirname(path))
    ['answer']
    """
    name = checked(path)
    mode = _mode(name)
    if mode is not None and not stat.S_ISREG(mode):
        with _explained(name):
            as_it_is = open(name, "wb")  # noqa: SIM115 - closed in the next line, whose errors are told apart
        with _explained(name, only=_OF_THE_DISK), as_it_is:
            yield as_it_is
        return
    target, temporary, descriptor = _opened_beside(name)
    try:
        _remove_left_over(os.path.dirname(target))
        with _explained(name):
            final = _mode_of_new(target) if mode is None else stat.S_IMODE(mode)
        with _explained(name, only=_OF_THE_DISK):
            # What writes the contents may close its file; the descriptor is closed here.
            with open(descriptor, "wb", closefd=False) as file:
                yield file
                if not file.closed:
                    file.flush()
            os.fsync(descriptor)
        with _explained(name):
            if fcntl is None:  # Windows renames no open file
                os.close(descriptor)
                descriptor = -1
            os.chmod(temporary, final)
            os.replace(temporary, target)
        if descriptor >= 0:  # only now: with it goes the lock, and what is not locked may be removed
            os.close(descriptor)
    except BaseException:
        with suppress(OSError):
            if descriptor >= 0:
                os.close(descriptor)
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _keep_the_name(os.path.dirname(target))


def check_writable(path: str | os.PathLike[str]) -> None:
    """Raises FileError unless ``path`` can be written now: to be checked before long work, not after it."""
    name = checked(path)
    mode = _mode(name)
    if mode is not None and not stat.S_ISREG(mode):
        return
    _, temporary, descriptor = _opened_beside(name)
    os.close(descriptor)
    with suppress(OSError):
        os.unlink(temporary)


def contents(path: str | os.PathLike[str]) -> bytes:
    """What a file holds; raises FileError if it cannot be read. It is opened once: a pipe cannot be opened again."""
    name = checked(path)
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        existing(name)  # says more, where it is the path that is wrong
        raise FileError(f"{name} cannot be read: {reason(error)}.") from error


def existing(path: str | os.PathLike[str]) -> str:
    """The path, as text; FileError unless a file is there that can be read."""
    name = checked(path)
    try:
        with open(name, "rb"):
            return name
    except FileNotFoundError:
        if link := link_to_nothing(name):
            raise FileError(f"{name} cannot be read: {link}. Mend the link, or give another path.") from None
        folder, own = os.path.split(os.path.abspath(name))
        others = os.listdir(folder) if os.path.isdir(folder) else []
        raise FileError(f"there is no file {name}.{did_you_mean(own, others)}") from None
    except IsADirectoryError:
        raise FileError(f"{name} is a folder; give the path of a file in it.") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {reason(error)}.") from error


def checked(path: Any) -> str:
    """A path as text; raises OptionError for anything else."""
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"path must be the path of a file, got {type(path).__name__}.")
    name = os.fspath(path)
    if not isinstance(name, str) or "\0" in name:
        raise OptionError(f"{name!r} cannot be the path of a file; give it as text without zero bytes.")
    return name


def link_to_nothing(name: str) -> str | None:
    """Which link of a path leads to what does not exist, in words; None if none does."""
    at = name
    while at:
        if os.path.islink(at) and not os.path.exists(at):
            return f"{at} is a link to {os.readlink(at)}, which does not exist"
        at = os.path.dirname(at) if os.path.dirname(at) != at else ""
    return None


def reason(error: OSError) -> str:
    """What the system said, without the number and the path.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'no such file or directory'
    """
    words = error.strerror or str(error) or type(error).__name__
    return words[:1].lower() + words[1:]


def _mode(name: str) -> int | None:
    """The mode of what is there, None if nothing is; raises FileError if a file cannot be put there."""
    if not name:
        raise FileError("the path of a file to write is empty; give it a name.")
    with _explained(name):
        try:
            mode = os.stat(name).st_mode
        except FileNotFoundError:
            return None
    if stat.S_ISDIR(mode):
        raise FileError(f"{name} is a folder; give the path of a file, such as one in it.")
    if not os.access(name, os.W_OK):
        raise FileError(f"{name} cannot be written: it is protected. Give another path, or change its permissions.")
    return mode


def _opened_beside(name: str) -> tuple[str, str, int]:
    """Where the file belongs, and a new one in the same folder: its path and its descriptor."""
    target = os.path.realpath(name)
    folder = os.path.dirname(target)
    if os.path.islink(target):
        raise FileError(f"{name} is a link that leads to itself; remove it, or give another path.")
    with _explained(name):
        # Ends: it is new, unless someone else took it for left over before it was locked.
        while True:
            temporary, descriptor = _new_file(folder, 0o600)
            if _is_locked(descriptor):
                return target, temporary, descriptor
            os.close(descriptor)


def _new_file(folder: str, mode: int) -> tuple[str, int]:
    # Not the file's own name with an ending: that could be too long.
    path = os.path.join(folder, f".nicecf-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    return path, os.open(path, flags, mode)


def _is_locked(descriptor: int) -> bool:
    """Lock a new file, so that others see that it is being written; False if it has been removed meanwhile."""
    if fcntl is None:
        return True
    with suppress(OSError):  # of a disk without locks: there, nobody can lock it to remove it either
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    return os.fstat(descriptor).st_nlink > 0


def _remove_left_over(folder: str) -> None:
    """Remove files that were being written when their process was killed: they may hold training rows.

    Whoever writes one holds a lock on it, which ends with the process. Windows has no such locks; there they stay.
    """
    if fcntl is None:
        return
    with suppress(OSError):
        names = [entry.name for entry in os.scandir(folder) if _UNFINISHED.fullmatch(entry.name)]
        for path in (os.path.join(folder, name) for name in names):
            with suppress(OSError):  # it is locked, gone, or somebody else's
                _remove_if_left_over(path)


def _remove_if_left_over(path: str) -> None:
    descriptor = os.open(path, os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.unlink(path)
    finally:
        os.close(descriptor)


def _mode_of_new(target: str) -> int:
    """The mode that a new file gets in the folder: by making one, since who may read it is not up to umask alone."""
    path, descriptor = _new_file(os.path.dirname(target), 0o666)
    try:
        return stat.S_IMODE(os.fstat(descriptor).st_mode)
    finally:
        os.close(descriptor)
        with suppress(FileNotFoundError):  # it has no lock: another process may have been faster
            os.unlink(path)


@contextmanager
def _explained(name: str, *, only: Collection[int] | None = None) -> Iterator[None]:
    """What the system says of a path, as a FileError that says what to do; ``only`` errors with these numbers."""
    try:
        yield
    except OSError as error:
        if only is not None and error.errno not in only:
            raise
        raise FileError(_explanation(name, error)) from error


def _explanation(name: str, error: OSError) -> str:
    folder = os.path.dirname(name) or "."
    if error.errno in _FULL:
        return f"{name} cannot be written: the disk is full. Free some space, or give a path on another disk."
    if isinstance(error, FileNotFoundError) and (link := link_to_nothing(name)):
        return f"{name} cannot be written: {link}. Mend the link, or give another path."
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return f"{name} cannot be written: there is no folder {folder}. Make it first, or give another path."
    if isinstance(error, NotADirectoryError):
        return f"{name} cannot be written: {folder} is not a folder. Give a path in a folder."
    if isinstance(error, (PermissionError, FileNotFoundError)) or error.errno == errno.EROFS:
        why = f"{folder} takes no new files" if isinstance(error, FileNotFoundError) else reason(error)
        return (
            f"{name} cannot be written: {why}. Give a path in a folder that may be written to, or change "
            f"the permissions of {folder}."
        )
    return f"{name} cannot be written: {reason(error)}. Give another path."


def _keep_the_name(folder: str) -> None:
    """Put the new name on the disk too, where the system can: without that, a power cut may bring the old file back."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
