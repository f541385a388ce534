"""Reading .npz archives that may lie: no pickle, no promise believed before it is checked."""

from __future__ import annotations

import math
import tokenize
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

DEFLATE_LIMIT = 1100  # deflate cannot shrink more than about 1032 times
READ_BYTES = 1 << 20


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
    try:
        archive = zipfile.ZipFile(path)
    except NotImplementedError as error:  # of a zip version
        raise ValueError(str(error)) from None
    except zipfile.BadZipFile:
        with open(path, "rb") as file:
            cut = file.read(2) == b"PK"
        raise ValueError("the zip archive is cut short" if cut else "not a zip archive") from None
    with archive:
        members = archive.infolist()
        if sum(info.compress_size for info in members) > path.stat().st_size:
            raise ValueError("its members promise more bytes than the file holds")
        for info in members:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise ValueError(f"{info.filename} is compressed by a method that NumPy does not write")
            if info.file_size > DEFLATE_LIMIT * max(info.compress_size, 1):
                raise ValueError(f"{info.filename} promises {info.file_size} bytes that it cannot hold")
        return {
            info.filename.removesuffix(".npy"): _read_member(archive, info)
            for info in members
            if info.filename.endswith(".npy")
        }


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read the header of an .npy file.

    Parameters
    ----------
    file : binary file
        At the start of the header; afterwards at the first byte of data.

    Returns
    -------
    tuple
        Shape, whether the order is Fortran's, and dtype.

    Raises
    ------
    ValueError
        If it is no such header, or the array holds objects.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            major, _ = npy.read_magic(file)
            read = npy.read_array_header_1_0 if major == 1 else npy.read_array_header_2_0
            shape, fortran, dtype = read(file)
    except (ValueError, TypeError, LookupError, OverflowError, SyntaxError, tokenize.TokenError) as error:
        raise ValueError(f"no NumPy array ({error})") from None
    except (RecursionError, MemoryError):  # nested brackets without end
        raise ValueError("no NumPy array (its header cannot be parsed)") from None
    if dtype.hasobject:
        raise ValueError("Python objects, which are never read")
    if not dtype.itemsize or any(not 0 <= n < 2**62 for n in shape):
        raise ValueError(f"an impossible array, {dtype} of shape {shape}")
    return shape, fortran, dtype


def _read_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> NDArray[Any]:
    try:
        with archive.open(info) as file:
            shape, fortran, dtype = read_header(file)
            n_bytes = math.prod(shape) * dtype.itemsize
            if n_bytes > info.file_size:
                raise ValueError(f"{n_bytes} bytes by its header, {info.file_size} by its entry")
            data = np.empty(n_bytes, np.uint8)  # writable, and filled without a second copy
            n_read = 0
            while chunk := file.read(READ_BYTES):
                if n_read + len(chunk) > n_bytes:
                    raise ValueError(f"more than the {n_bytes} bytes of data that its header promises")
                data[n_read : n_read + len(chunk)] = np.frombuffer(chunk, np.uint8)
                n_read += len(chunk)
            if n_read != n_bytes:
                raise ValueError(f"{n_read} bytes of data, not {n_bytes}")
    except (ValueError, NotImplementedError, RuntimeError, zlib.error, EOFError) as error:
        raise ValueError(f"{info.filename} holds {error}") from None  # also encryption
    return data.view(dtype).reshape(shape, order="F" if fortran else "C")
