"""How close two sets of bAbI stories are, task by task: `python -m data_prep babi --compare A B`.

Both files are prepared HDF5 files (see `data_prep.babi.prepare`). Their training and validation
stories are compared. Per task:

    words, shapes   how many words, and sentence shapes, only A has and only B has ("A/B")
    and the total variation distance between the two sides' distributions of
    facts           numbers of facts told before a question
    answers         answers
    support         numbers of supporting facts
    sentences       sentence shapes of facts
    questions       sentence shapes of questions

A shape is a sentence with names, places, objects and so on replaced by their class. Two finite
samples of one distribution are some distance apart, too. The figure in parentheses estimates this
noise: it is the distance between the two halves of A (every other story), scaled to the samples'
sizes.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from rrn.data_prep import DataError, hdf5
from rrn.data_prep.babi.stories import Question, Story, words

CLASSES = {
    "NAME": "antoine bernhard bill brian daniel emily fred gertrude greg jason jeff jessica john"
    " julie julius lily mary sandra sumit winona yann",
    "PLACE": "bathroom bedroom cinema garden hallway kitchen office park school",
    "OBJECT": "apple box chest chocolate chocolates container football milk pajamas suitcase",
    "KIND": "cat cats frog lion mice mouse rhino sheep swan wolf wolves",
    "COLOUR": "blue gray green pink red white yellow",
    "FIGURE": "rectangle sphere square triangle",
}
_CLASS = {word: name for name, members in CLASSES.items() for word in members.split()}
MEASURES = ("facts", "answers", "support", "sentences", "questions")


@dataclass(frozen=True)
class Comparison:
    """How two samples of one task's stories differ.

    Attributes:
      words: the words that only the first side has, and those that only the second has.
      shapes: the same for sentence shapes.
      distances: the total variation distance of each of `MEASURES`.
      noise: the distance of each of `MEASURES` that sampling alone explains.
    """

    words: tuple[list[str], list[str]]
    shapes: tuple[list[str], list[str]]
    distances: dict[str, float]
    noise: dict[str, float]


def compare(one: Sequence[Story], two: Sequence[Story]) -> Comparison:
    """Compares two samples of one task's stories.

    Args:
      one: its halves give the noise.
    """
    distances, noise = {}, {}
    for name in MEASURES:
        measured = _MEASURED[name]
        distances[name] = distance(_count(one, measured), _count(two, measured))
        halves = distance(_count(one[::2], measured), _count(one[1::2], measured))
        # Halves of n stories lie as far apart as two samples of n / 2, that is 2 / sqrt(n).
        noise[name] = halves / 2 * (1 + len(one) / len(two)) ** 0.5
    return Comparison(
        _only_one(_vocabulary(one), _vocabulary(two)),
        _only_one(_shapes(one), _shapes(two)),
        distances,
        noise,
    )


def shape(sentence: str) -> str:
    """Returns a sentence with the class in place of each name, place, object and so on."""
    return " ".join(_CLASS.get(word, word) for word in words(sentence))


def _vocabulary(stories: Sequence[Story]) -> set[str]:
    sentences = {text for story in stories for text in story.facts}
    sentences |= {q.text for story in stories for q in story.questions}
    answers = {answer for s in stories for q in s.questions for answer in q.answer.split(",")}
    return {word for text in sentences | answers for word in words(text)}


def _shapes(stories: Sequence[Story]) -> set[str]:
    return {*_count(stories, _MEASURED["sentences"]), *_count(stories, _MEASURED["questions"])}


def _only_one(one: set[str], two: set[str]) -> tuple[list[str], list[str]]:
    return sorted(one - two), sorted(two - one)


Measured = Callable[[Story], Iterable[object]]
_MEASURED: dict[str, Measured] = {
    "facts": lambda story: (q.num_facts for q in story.questions),
    "answers": lambda story: (q.answer.lower() for q in story.questions),
    "support": lambda story: (len(q.supporting) for q in story.questions),
    "sentences": lambda story: map(shape, story.facts),
    "questions": lambda story: (shape(q.text) for q in story.questions),
}


def _count(stories: Sequence[Story], measured: Measured) -> Counter:
    return Counter(value for story in stories for value in measured(story))


def distance(one: Counter, two: Counter) -> float:
    """Returns the total variation distance, from 0 to 1, of two normalized counts."""
    n, m = one.total() or 1, two.total() or 1
    return sum(abs(one[value] / n - two[value] / m) for value in one.keys() | two.keys()) / 2


def read(path: Path) -> dict[int, list[Story]]:
    """Returns the training and validation stories of a prepared file, by task.

    Raises:
      DataError: there is no such file, or it is not a prepared bAbI file.
    """
    contents = hdf5.read(path)
    if contents.attributes.get("schema") != "babi":
        raise DataError(f"{path}: not a prepared bAbI file")
    datasets = contents.datasets
    vocabulary, stories = datasets["vocabulary"], {}
    lengths, tokens = datasets["sentences/length"], datasets["sentences/tokens"]
    sentences = [
        " ".join(vocabulary[row[:length]]) for row, length in zip(tokens, lengths, strict=True)
    ]
    for split in ("train", "valid"):
        own = {n.removeprefix(f"{split}/"): array for n, array in datasets.items() if split in n}
        for story in _stories(own, sentences, vocabulary):
            stories.setdefault(story.task, []).append(story)
    return stories


def _stories(
    arrays: dict[str, np.ndarray], sentences: list[str], vocabulary: np.ndarray
) -> Iterable[Story]:
    starts, support = arrays["story_start"], arrays["supporting_start"]
    of_story = np.searchsorted(arrays["story"], np.arange(len(starts)))
    for s, (first, last) in enumerate(itertools.pairwise(of_story)):
        facts = arrays["facts"][starts[s] : starts[s + 1]]
        questions = [
            Question(
                sentences[arrays["question"][q]],
                str(vocabulary[arrays["answer"][q]]),
                int(arrays["num_facts"][q]),
                tuple(arrays["supporting"][support[q] : support[q + 1]].tolist()),
            )
            for q in range(first, last)
        ]
        yield Story(
            int(arrays["task"][first]), tuple(sentences[f] for f in facts), tuple(questions)
        )


def report(a: Path, b: Path) -> str:
    """Returns the table of two prepared files, and below it what only one of them has.

    Raises:
      DataError: there is no such file, or it is not a prepared bAbI file.
    """
    return table(read(a), read(b))


def table(one: dict[int, list[Story]], two: dict[int, list[Story]]) -> str:
    """Returns the table of stories by task, and below it the words and shapes that one side has.

    Tasks that only one side has are left out.
    """
    head = f"{'task':>4}{'words':>7}{'shapes':>8}" + "".join(f"{m:>16}" for m in MEASURES)
    rows, details = [head], []
    for task in sorted(one.keys() & two.keys()):
        row = compare(one[task], two[task])
        cells = "".join(f"{row.distances[m]:9.3f} ({row.noise[m]:.3f})".rjust(16) for m in MEASURES)
        words_, shapes = ("/".join(str(len(side)) for side in x) for x in (row.words, row.shapes))
        rows.append(f"{task:4}{words_:>7}{shapes:>8}{cells}")
        for kind, sides in (("words", row.words), ("shapes", row.shapes)):
            for side, only in zip("AB", sides, strict=True):
                if only:
                    details.append(f"task {task}, {kind} only in {side}: {'; '.join(only)}")
    return "\n".join(rows + details)
