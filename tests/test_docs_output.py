"""What the documentation says that its code prints is what the code prints."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
END = "--- end of block ---"


def blocks(page):
    """Return each Python block with the text block right after it, if there is one."""
    pattern = r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```$)?"
    return re.findall(pattern, page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("name", ["choosing.md", "metrics.md", "results.md"])
def test_printed_lines_are_those_of_the_page(name, tmp_path):
    found = blocks(DOCS / name)
    code = f"\nprint({END!r})\n".join(code for code, _ in found)
    done = subprocess.run(
        [sys.executable, "-W", "error", "-X", "utf8", "-c", code],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.split(f"{END}\n")
    assert len(printed) == len(found) >= 1
    for shown, (_, expected) in zip(printed, found, strict=True):
        assert shown == expected
