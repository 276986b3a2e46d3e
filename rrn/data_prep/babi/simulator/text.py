"""Writes stories in bAbI's own text format, which `parse_stories` of `babi.stories` reads."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from rrn.data_prep.babi.stories import Story
from rrn.data_prep.writing import whole


def write(directory: Path, stories: Mapping[str, Sequence[Story]]) -> list[Path]:
    """Writes a file qaN_{split}.txt for every task and split.

    Args:
      directory: where to write. It is made if it is not there.
    """
    directory.mkdir(parents=True, exist_ok=True)
    texts: dict[str, list[str]] = {}
    for split, told in stories.items():
        for story in told:
            texts.setdefault(f"qa{story.task}_{split}.txt", []).append(format_story(story))
    paths = [directory / name for name in texts]
    for path in paths:
        with whole(path) as temporary:
            temporary.write_text("".join(texts[path.name]), encoding="utf-8", newline="\n")
    return paths


def format_story(story: Story) -> str:
    """Returns the lines of a story: numbered facts, and questions where they are asked."""
    lines: list[str] = []
    line_of: list[int] = []
    for question in story.questions:
        for fact in story.facts[len(line_of) : question.num_facts]:
            lines.append(fact)
            line_of.append(len(lines))
        support = " ".join(str(line_of[fact]) for fact in question.supporting)
        lines.append(f"{question.text} \t{question.answer}\t{support}")
    return "".join(f"{number} {line}\n" for number, line in enumerate(lines, start=1))
