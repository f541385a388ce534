"""The evaluation that all tasks of a run share, as plain bytes that can be sent to processes."""

from __future__ import annotations

import hashlib
import importlib
import io
import json
import math
from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from xmleval.base.arrays import Floats
from xmleval.base.errors import shown
from xmleval.evaluation.evaluator import Evaluator, restore_evaluator, saved_of
from xmleval.files.input import InputFile
from xmleval.files.output import replacing
from xmleval.files.remote import RemotePath, as_path
from xmleval.files.saved import first_difference, from_bytes, to_bytes
from xmleval.metrics.entry_points import defined_measure
from xmleval.numerics.discounts import TABULATED, first_discounts
from xmleval.version import __version__

LEAST_FILE = 1 << 20  # bytes of propensities that are worth a file
# evaluators of the last job, by digest and threads
_opened_evaluators: dict[tuple[str, int], Evaluator] = {}


@dataclass(frozen=True)
class Job:
    """An evaluator without rows, as bytes, and versions and settings that could affect its values.

    Parameters
    ----------
    digest : str
        Hash of the settings, propensities and versions.
    sent : bytes
        The evaluator, without propensities.
    propensity : float64 (n_labels,), str or None
        Inverse propensities, or their file; ``propensity_digest`` is a hash of them.
    constants : dict of str to str
        Versions and constants of the thread that made it; those of every other must be the same.
    memory : int
        Bytes that each task may use in addition to rows that are read.
    threads : int
        Threads of each task.
    """

    digest: str
    sent: bytes
    propensity: Floats | str | None
    propensity_digest: str
    constants: dict[str, str]
    memory: int
    threads: int

    def with_file(self, path: Path) -> Job:
        """Return the job with its propensities in a file, which a machine maps to memory once."""
        if not isinstance(self.propensity, np.ndarray) or self.propensity.nbytes < LEAST_FILE:
            return self
        with replacing(path, follow_links=False) as file:
            np.save(file, self.propensity)
        return replace(self, propensity=str(path))


def make_job(evaluator: Evaluator, memory: int, threads: int = 1) -> Job:
    """Return the job of an evaluator that has counted nothing."""
    saved = saved_of(copy(evaluator))
    constants = read_constants()
    propensity = saved.arrays.pop("propensity", None)
    propensity_digest = ""
    if propensity is not None:
        propensity_digest = digest_of(None, {"propensity": propensity})
    digest = digest_of([constants, saved.meta, propensity_digest], saved.arrays)
    return Job(digest, to_bytes(saved), propensity, propensity_digest, constants, memory, threads)


def opened(job: Job, threads: int | None = None) -> Evaluator:
    """Return a new evaluator without rows, by default with the threads of tasks.

    Raises
    ------
    ValueError
        If this thread could give other bits than the one that made the job.
    """
    places = ("at the client", "at a worker")
    difference = first_difference(job.constants, read_constants(), "", places)
    if difference:
        raise ValueError(f"workers: {difference}; workers and client must have the same")
    if not threads:
        threads = job.threads
    evaluator = _opened_evaluators.get((job.digest, threads))
    if evaluator is None:
        saved = from_bytes(job.sent)
        _import_measures(saved.meta["modules"])
        if job.propensity is not None:
            saved.arrays["propensity"] = _read_propensity(job)
        evaluator = restore_evaluator(saved, memory=job.memory, threads=threads)
        # a copy of the keys: other threads may add some
        if {digest for digest, _ in [*_opened_evaluators]} != {job.digest}:
            _opened_evaluators.clear()
        _opened_evaluators[job.digest, threads] = evaluator
    return copy(evaluator)


def _import_measures(modules: Mapping[str, str]) -> None:
    """Import the modules that define measures of users which this process does not know."""
    for name, module in modules.items():
        if defined_measure(name) is None and module != "__main__":
            importlib.import_module(module)
        if defined_measure(name) is None:
            text = f"workers: measure {shown(name)} is unknown to a worker; define it in a module"
            raise ValueError(f"{text} that workers can import, not in {module}")


def _read_propensity(job: Job) -> Floats | None:
    """Return the propensities of a job; a local file is mapped to memory."""
    if not isinstance(job.propensity, str):
        return job.propensity
    path = as_path(job.propensity)
    values: Floats
    if isinstance(path, RemotePath):
        with InputFile(path).open() as file:
            values = np.load(io.BytesIO(file.read()))
    else:
        values = np.load(path, mmap_mode="c")  # kernels take it like an array in memory
    if digest_of(None, {"propensity": values}) != job.propensity_digest:
        raise ValueError(f"{path}: not the propensities of this run")
    return values


def read_constants() -> dict[str, str]:
    """Return versions and settings of this thread that affect floating-point results."""
    # libraries let a processor flush subnormals to zero, thread by thread: small scores become ties
    return {**_read_process_constants(), "smallest positive number": str(math.ulp(0.0) * 1.0)}


@cache
def _read_process_constants() -> dict[str, str]:
    table = hashlib.sha256(first_discounts(TABULATED).tobytes()).hexdigest()
    libraries = {name: version(name) for name in ("numpy", "numba")}
    return {"version of xmleval": __version__, **libraries, "table of discounts": table[:16]}


def digest_of(meta: object, arrays: dict[str, Any] | None = None) -> str:
    """Return a hash of JSON values and of arrays."""
    digest = hashlib.sha256(json.dumps(meta, sort_keys=True, default=str).encode())
    for name, array in sorted((arrays or {}).items()):
        digest.update(f"{name} {array.dtype.str} {array.shape}".encode())
        digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()[:32]
