"""No call waits for threads that are refused, or that end before they begin."""

import os
from pathlib import Path

import pytest

import xmleval
from tests.commands import process

# run by each Python process at its start, also by those of --workers
REFUSING = """
import _thread, threading
start = _thread.start_new_thread
def refuse(*arguments, **options):
    raise RuntimeError("can't start new thread")
def start_dead(function, arguments=(), *more, **options):
    return start(int, ())
for module in (_thread, threading):
    for name in ("start_new_thread", "start_joinable_thread"):
        for full_name in (name, "_" + name):
            if hasattr(module, full_name):
                setattr(module, full_name, REPLACEMENT)
"""
CALLS = """
import contextlib, io, logging
import numpy as np, scipy.sparse as sp
import xmleval
from xmleval import Running, calibrate, cli, compare, evaluate, thresholds

def command(words):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        assert cli.main(words.split()) == 0, words
    return out.getvalue()

def show(name, result):
    print(name, repr(result))

if __name__ == "__main__":
    logging.getLogger("xmleval.kernels").setLevel(logging.CRITICAL)
    rng = np.random.default_rng(0)
    scores = rng.random((3000, 20), np.float32)
    truth = (rng.random(scores.shape) < scores / 2).astype(np.uint8)
    sp.save_npz("Y.npz", sp.csr_array(truth), compressed=False)
    sp.save_npz("S.npz", sp.csr_array(scores), compressed=False)
    np.save("dense.npy", scores)
    xmleval.io.write_xmc("Y.txt", sp.csr_array(truth), "truth")
    xmleval.io.write_xmc("S.txt", sp.csr_array(scores), "scores")
    measures = ["p@1", "lrap", "auc.micro", "ap.macro"]
    running = Running(block_rows=100)
    report = evaluate(truth, scores, metrics=measures, threads=3, running=running)
    show("arrays", report.to_json())
    report = evaluate("Y.npz", "S.npz", metrics=measures, threads=2, memory="16MB")
    show("files", report.to_json())
    options = "--metrics p@1,auc.micro --format json"
    show("text", command(f"evaluate Y.txt S.txt --threads 2 {options}"))
    show("workers", command(f"evaluate Y.npz dense.npy --workers 2 {options}"))
    show("thresholds", thresholds.fit(truth, scores, measure="f1.macro"))
    show("threshold", command("threshold fit Y.npz S.npz --measure f1.micro --output rule.npz"))
    show("calibration", calibrate.fit(truth, scores).apply(scores)[:2].tolist())
    models = {"a": scores, "b": scores[:, ::-1]}
    show("compare", compare(truth, models, metrics="p@1").to_json())
    show("fuse", command("fuse S.npz dense.npy --output fused.npz"))
    show("convert", command("convert S.txt converted.npz --kind scores"))
    show("stats", command("stats Y.npz --format json"))
"""


def outputs(folder: Path, replacement: str | None) -> dict[str, str]:
    """Return what all calls print by their names, where threads are started by a replacement."""
    folder.mkdir()
    (folder / "calls.py").write_text(CALLS)
    if replacement is not None:
        (folder / "sitecustomize.py").write_text(REFUSING.replace("REPLACEMENT", replacement))
    paths = os.pathsep.join([str(folder), str(Path(xmleval.__file__).resolve().parents[1])])
    done = process(str(folder / "calls.py"), python="-u", cwd=folder, env={"PYTHONPATH": paths})
    assert (done.returncode, done.stderr) == (0, "")
    return dict(line.split(" ", 1) for line in done.stdout.splitlines())


@pytest.mark.slow
@pytest.mark.parametrize("replacement", ["refuse", "start_dead"])
def test_no_call_waits_for_a_thread_that_does_not_begin(tmp_path: Path, replacement: str) -> None:
    expected = outputs(tmp_path / "expected", None)
    assert outputs(tmp_path / replacement, replacement) == expected
