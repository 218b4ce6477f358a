"""Files: read if they are there, and written in one step, so that all is there or what was before."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from nicecf.exceptions import FileError, OptionError, did_you_mean

_FULL = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC)}
# Of what goes wrong while a file is written, what is the disk's doing and not that of whoever makes the contents.
_OF_THE_DISK = {*_FULL, errno.EIO, errno.EFBIG, errno.EROFS}


@contextmanager
def writing(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file to write bytes to, which becomes ``path`` when the block ends well; FileError where that cannot be.

    The bytes go to a file beside it, which is put on the disk and then renamed. If the block raises, also by Ctrl-C,
    that file is removed. A file that is there keeps its mode, a link keeps pointing where it does. What is no file (a
    terminal, a pipe, /dev/null) is written to as it is.

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
        with _explained(name, only=_OF_THE_DISK):
            # What writes the contents may close its file; the descriptor is closed here.
            with open(descriptor, "wb", closefd=False) as file:
                yield file
                if not file.closed:
                    file.flush()
            os.fsync(descriptor)
        with _explained(name):
            os.close(descriptor)
            descriptor = -1
            if mode is not None:
                os.chmod(temporary, stat.S_IMODE(mode))
            os.replace(temporary, target)
    except BaseException:
        with suppress(OSError):
            if descriptor >= 0:
                os.close(descriptor)
        with suppress(OSError):
            os.unlink(temporary)
        raise
    _keep_the_name(os.path.dirname(target))


def check_writable(path: str | os.PathLike[str]) -> None:
    """FileError unless ``path`` can be written now: to be said before long work, not after it."""
    name = os.fspath(path)
    mode = _mode(name)
    if mode is not None and not stat.S_ISREG(mode):
        return
    _, temporary, descriptor = _opened_beside(name)
    os.close(descriptor)
    with suppress(OSError):
        os.unlink(temporary)


def contents(path: str | os.PathLike[str]) -> bytes:
    """What a file holds; FileError where there is none that can be read. It is opened once, for pipes have no more."""
    name = checked(path)
    try:
        with open(name, "rb") as file:
            return file.read()
    except OSError as error:
        existing(name)  # says more, where it is the path that is wrong
        raise FileError(f"{name} cannot be read: {reason(error)}.") from error


def existing(path: str | os.PathLike[str]) -> str:
    """The path, as text; FileError unless a file is there that can be read."""
    name = os.fspath(path)
    try:
        with open(name, "rb"):
            return name
    except FileNotFoundError:
        folder, own = os.path.split(os.path.abspath(name))
        others = os.listdir(folder) if os.path.isdir(folder) else []
        raise FileError(f"there is no file {name}.{did_you_mean(own, others)}") from None
    except IsADirectoryError:
        raise FileError(f"{name} is a folder; give the path of a file in it.") from None
    except OSError as error:
        raise FileError(f"{name} cannot be read: {reason(error)}.") from error


def checked(path: Any) -> str:
    """A path as text; OptionError for what is none."""
    if not isinstance(path, (str, os.PathLike)):
        raise OptionError(f"path must be the path of a file, got {type(path).__name__}.")
    name = os.fspath(path)
    if not isinstance(name, str) or "\0" in name:
        raise OptionError(f"{name!r} cannot be the path of a file; give it as text without zero bytes.")
    return name


def reason(error: OSError) -> str:
    """What the system said, without the number and the path.

    >>> reason(FileNotFoundError(2, "No such file or directory", "a.csv"))
    'no such file or directory'
    """
    words = error.strerror or str(error) or type(error).__name__
    return words[:1].lower() + words[1:]


def _mode(name: str) -> int | None:
    """The mode of what is there, None if nothing is; FileError if that can be no place for a file."""
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
    # Not the file's own name with an ending: that could be too long. The mode is what open() gives to a new file.
    temporary = os.path.join(folder, f".nicecf-{secrets.token_hex(8)}.tmp")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    with _explained(name):
        return target, temporary, os.open(temporary, flags, 0o666)


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
    if isinstance(error, FileNotFoundError) and not os.path.isdir(folder):
        return f"{name} cannot be written: there is no folder {folder}. Make it first, or give another path."
    if isinstance(error, NotADirectoryError):
        return f"{name} cannot be written: {folder} is no folder. Give a path in a folder."
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
