"""Reading .npz archives that may lie: no pickle, no promise believed before it is checked."""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

DEFLATE_LIMIT = 1100  # deflate cannot shrink more than about 1032 times


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read every array of an .npz archive.

    Parameters
    ----------
    path : Path
        File to read.

    Returns
    -------
    dict of str to ndarray

    Raises
    ------
    OSError
        If the file cannot be read.
    ValueError, zipfile.BadZipFile
        If it is no such archive, is damaged, holds objects, or promises more than it can hold.
    """
    with zipfile.ZipFile(path) as archive:
        held = path.stat().st_size
        for info in archive.infolist():
            if info.file_size > DEFLATE_LIMIT * max(info.compress_size, 1) or info.compress_size > held:
                raise ValueError(f"{info.filename} promises {info.file_size} bytes that it cannot hold")
        return {
            info.filename.removesuffix(".npy"): _read_member(archive, info)
            for info in archive.infolist()
            if info.filename.endswith(".npy")
        }


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    try:
        with archive.open(info) as file:
            major, _ = npy.read_magic(file)
            read_header = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            shape, fortran, dtype = read_header(file)
            if dtype.hasobject:
                raise ValueError(f"{info.filename} holds Python objects, which are never read")
            n_bytes = math.prod(shape) * dtype.itemsize
            if n_bytes > info.file_size:
                raise ValueError(f"{info.filename} promises {n_bytes} bytes; it holds {info.file_size}")
            data = file.read()
            if len(data) != n_bytes:
                raise ValueError(f"{info.filename} holds {len(data)} bytes of data, not {n_bytes}")
    except (NotImplementedError, RuntimeError, zlib.error) as error:  # also encryption, unknown methods
        raise ValueError(f"{info.filename}: {error}") from None
    array: NDArray[Any] = np.frombuffer(data, dtype)
    return array.reshape(shape, order="F" if fortran else "C")
