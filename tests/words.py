"""Private words stay out of Markdown, docstrings, help and errors; `make lint` runs it.

python tests/words.py
"""

import ast
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# What is not written -> what is.
WORDS = {
    "floors?": "layer",
    "in place of": "instead of",
    "from nothing": "from scratch",
    "beside (much |very much )?other (work|programs)": "on a shared machine",
    "the same bits": "bitwise identical",
    "(learned|known) by heart": "memorized",
    "at hand": "available",
    "(is|are|was|were) mended": "fixed",
    "beg(in|ins|an|un|inning) anew": "restart",
    "(go|goes|went|going|gone) on": "resume, continue",
    "so many": "N",
    "hears?|heard": "receive from",
    "relabel(s|led|ling)?": "permute the digits",
    "drawn by (the )?(validation )?errors?": "sampled in proportion to validation error",
    "what facts tell": "auxiliary loss",
    "carried segments": "persistent state",
    "by chance": "at random",
    "throw-away": "leave it out",
}
MEANT = {"docs/guide/new_task.md": "hear"}  # rumours are heard
PATTERNS = (
    "*.md",
    "docs/**/*.md",
    "pretrained/*.md",
    "rrn/**/*.py",
    "configs/*.py",
    "benchmarks/*.py",
)


def prose(path: Path) -> list[tuple[int, str]]:
    """(line, text) of a page without its code, or of a module's docstrings and messages."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        code = r"```.*?```|`[^`]*`"
        return [(1, re.sub(code, lambda m: re.sub(r"[^\n]", "x", m[0]), text, flags=re.S))]
    constants = [n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.Constant)]
    return [(n.lineno, n.value) for n in constants if isinstance(n.value, str)]


def main() -> int:
    wrong = []
    for path in sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern)):
        name = str(path.relative_to(ROOT))
        for first, text in prose(path):
            for word, better in WORDS.items():
                if word.startswith(MEANT.get(name, "-")):
                    continue
                pattern = rf"\b({word})\b".replace(" ", r"\s+")
                for match in re.finditer(pattern, text, re.IGNORECASE):
                    line = first + text.count("\n", 0, match.start())
                    wrong.append(f"{name}:{line}: {' '.join(match[0].split())}: write {better}")
    print("\n".join(wrong) if wrong else "words: none that is private")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
