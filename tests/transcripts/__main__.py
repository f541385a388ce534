"""Write today's answers into the pages: python -m tests.transcripts [PAGE ...]."""

import importlib.util
import sys
import tempfile
from pathlib import Path

from tests.transcripts.test_transcripts import NEEDS, PAGES, SECTION, answered


def main(pages: list[Path]) -> None:
    """Rewrite the answers of pages, but in sections that need modules which are not installed."""
    for path in pages:
        head, *sections = SECTION.split(path.read_text(encoding="utf-8"))
        for number, section in enumerate(sections):
            with tempfile.TemporaryDirectory() as folder:
                if all(importlib.util.find_spec(module) for module in NEEDS.findall(section)):
                    sections[number] = answered(head, section, Path(folder))
        path.write_text("".join([head, *sections]), encoding="utf-8")


if __name__ == "__main__":
    main([Path(name) for name in sys.argv[1:]] or PAGES)
