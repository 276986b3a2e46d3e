"""The documentation's Python runs as it is written, but for the number of updates."""

import re
import runpy
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def python_of(document):
    """The Python blocks of a Markdown file, one after the other."""
    text = (ROOT / document).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    assert len(blocks) == text.count("```python") > 0
    return "\n".join(blocks)


def run(code, folder, monkeypatch):
    monkeypatch.chdir(folder)  # what the code saves stays there
    (folder / "code.py").write_text(code, encoding="utf-8")  # AutoGraph reads sources from files
    return runpy.run_path("code.py")


def test_the_python_of_the_readme_runs(tmp_path, monkeypatch, capsys):
    run(python_of("README.md"), tmp_path, monkeypatch)
    assert capsys.readouterr().out == "(5, 10) (2, 10)\n" * 4


def test_the_python_of_modules_md_runs(tmp_path, monkeypatch, capsys):
    code = python_of("docs/modules.md")
    code, replaced = re.subn(r"^(NUM_UPDATES =) \d+$", r"\1 40", code, flags=re.MULTILINE)
    assert replaced == 1
    results = run(code, tmp_path, monkeypatch)
    printed = re.findall(r"^step (\d): ([\d.]+) %", capsys.readouterr().out, re.MULTILINE)
    assert [int(step) for step, _ in printed] == list(range(1, results["STEPS"] + 1))
    out_of_reach = 100 * (results["distances"].numpy() == results["CLASSES"] - 1).mean()
    assert float(printed[-1][1]) > out_of_reach + 5  # more than the most frequent answer gives
    assert (tmp_path / "distances.h5").exists()
