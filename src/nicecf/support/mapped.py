"""Arrays in files: what does not fit in memory, or need not."""

from __future__ import annotations

import mmap
import os
import tempfile
from typing import Any

import numpy as np
import numpy.typing as npt

from nicecf.exceptions import FileError
from nicecf.support.files import reason


def array_in_file(shape: tuple[int, int], dtype: npt.DTypeLike = np.float64) -> Any:
    """A new array of zeros, column by column, in a file that has no name and is gone with the array.

    The file is in the folder for temporary files, which ``TMPDIR`` names. Its room is taken at once: FileError if the
    disk has none, not an end of the process half-way.
    """
    size = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    if not size:
        return np.zeros(shape, dtype, order="F")
    folder = tempfile.gettempdir()
    try:
        with tempfile.TemporaryFile(prefix="nicecf-") as file:
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            else:
                file.truncate(size)
            held = mmap.mmap(file.fileno(), size)
    except OSError as error:
        raise FileError(
            f"the training rows need {size / 1e9:.1f} GB in {folder}: {reason(error)}. Free some space, or let the "
            "environment variable TMPDIR name a folder on another disk."
        ) from error
    return np.ndarray(shape, dtype, held, order="F")
