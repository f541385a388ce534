"""A browser shows a page without errors or requests; its tables sort and filter."""

import html
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.figures.test_figures import compared

BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
AXE = os.environ.get("AXE")  # axe.min.js of the npm package axe-core
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-sync",
    "--disable-background-networking",
    "--disable-component-update",
    "--virtual-time-budget=20000",
    "--dump-dom",
]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed"),
]
BEFORE = """<script>window.problems = [];
addEventListener("error", (e) => problems.push(e.message));
document.addEventListener("securitypolicyviolation", (e) => problems.push(e.blockedURI));
</script>"""
AFTER = """<script>(async () => {
const table = document.querySelector("table.sortable");
const column = (n) => [...table.tBodies[0].rows].map((row) => row.cells[n].textContent.trim());
const button = table.tHead.rows[0].cells[1].querySelector("button");
button.click(); const rising = column(1); const state = button.parentElement.ariaSort;
button.click(); const falling = column(1);
const field = document.querySelector(".filter input");
field.value = "ndcg"; field.dispatchEvent(new Event("input"));
const shown = [...table.tBodies[0].rows].filter((row) => !row.hidden);
const left = shown.map((row) => row.cells[0].textContent);
const violations = window.axe ? (await axe.run()).violations : [];
const checked = violations.map((each) => [each.id, each.impact]);
const requests = performance.getEntriesByType("resource").map((entry) => entry.name);
const wide = document.documentElement.scrollWidth > document.documentElement.clientWidth;
const sides = new Set([...document.querySelectorAll("section, .part")].map((part) =>
  Math.round(part.getBoundingClientRect().left)));
const answer = document.createElement("pre"); answer.id = "answer";
const results = { problems, requests, rising, falling, state, left, checked, wide,
  columns: sides.size };
answer.textContent = JSON.stringify(results);
document.body.append(answer); })();</script>"""


@pytest.mark.parametrize("width", [1280, 390])
def test_page_has_no_problems_in_a_browser(tmp_path: Path, width: int) -> None:
    script = ""
    if AXE is not None:
        script = Path(AXE).read_text().replace("</script", "<\\/script")
    text = compared().to_html().replace("<head>", f"<head>{BEFORE}", 1)
    text = text.replace("</body>", f"<script>{script}</script>{AFTER}</body>")
    (tmp_path / "page.html").write_text(text)
    assert BROWSER is not None
    size = [f"--window-size={width},900", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [BROWSER, *FLAGS, *size, f"file://{tmp_path / 'page.html'}"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    match = re.search(r'<pre id="answer">(.*?)</pre>', run.stdout, re.DOTALL)
    assert match is not None, run.stdout[-500:]
    answer: dict[str, Any] = json.loads(html.unescape(match[1]))
    assert answer["problems"] == answer["requests"] == answer["checked"] == []
    assert not answer["wide"]
    assert answer["columns"] == (2 if width == 1280 else 1)
    numbers = [float(re.split(r"[^\d.]", value)[0]) for value in answer["rising"]]
    assert numbers == sorted(numbers)
    assert answer["falling"] == answer["rising"][::-1]
    assert answer["state"] == "ascending"
    assert answer["left"]
    assert all("nDCG" in name for name in answer["left"])
