"""bAbI's stories, and how their text files are read."""

import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field

from rrn.data_prep import DataError

TASKS = range(1, 21)
SPLITS = {"train": "training", "valid": "validation", "test": "test"}
LONGEST = 255  # words in a sentence, because lengths are stored as uint8
FACT_ENDS, QUESTION_ENDS = ".!;。！；।", "?？"  # noqa: RUF001
MOST_FACTS = 1000  # of a story; the published ones have at most 228
_WITHOUT_MARKS = dict.fromkeys(map(ord, FACT_ENDS + QUESTION_ENDS))


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked in the course of a story.

    Questions are equal whatever their supporting facts, which some files lack.

    Attributes:
      answer: one word, or a list such as "milk,apple".
      num_facts: how many facts of the story precede the question.
      supporting: indices of the supporting facts, from 0, among the story's facts.
    """

    text: str
    answer: str
    num_facts: int
    supporting: tuple[int, ...] = field(compare=False)


@dataclass(frozen=True, slots=True)
class Story:
    """A story of a task, 1 to 20: its facts and questions in the order in which they are told."""

    task: int
    facts: tuple[str, ...]
    questions: tuple[Question, ...]


def parse_stories(data: bytes, task: int, file: str) -> list[Story]:
    """Returns the stories of one bAbI text file.

    Every line starts with its number in the story, from 1. Then comes either a fact, or a question,
    its answer and the line numbers of the supporting facts, separated by tabs:

        1 Mary moved to the bathroom.
        2 Where is Mary?<tab>bathroom<tab>1

    Supporting facts may be missing, and may have commas between them. Blank lines and a byte order
    mark are passed over. A `DataError` names the file and the line.
    """
    try:
        lines = data.decode("utf-8-sig").removesuffix("\n").split("\n")
    except UnicodeDecodeError as error:
        raise DataError(f"{file}: {error}; expected UTF-8 text") from None
    if not any(map(str.strip, lines)):
        raise DataError(f"{file}: empty; expected lines like '1 Mary moved to the bathroom.'")
    stories, facts, questions = [], [], []
    fact_at = {}  # line number in the story -> position of the fact
    line, last = 0, 0
    try:
        for line, text in enumerate(lines, start=1):  # noqa: B007 (used in the error)
            if not text.strip():
                continue
            if "\0" in text:  # which HDF5's strings cannot hold
                raise DataError(f"{text!r} has a NUL character; expected text")
            number, text = _split_number(text, last)
            if number == 1 and last:
                stories.append(_end_story(task, facts, questions))
                facts, questions, fact_at = [], [], {}
            if "\t" in text:
                questions.append(_parse_question(text, fact_at))
            else:
                fact_at[str(number)] = len(facts)
                facts.append(_parse_fact(text))
            last = number
        stories.append(_end_story(task, facts, questions))
    except DataError as error:
        raise DataError(f"{file}, line {line}: {error}") from None
    return stories


def _end_story(task: int, facts: list[str], questions: list[Question]) -> Story:
    if not questions or questions[-1].num_facts < len(facts):
        raise DataError(f"no question follows the story's last fact {facts[-1]!r}; is a part lost?")
    if len(facts) > MOST_FACTS:
        raise DataError(f"a story has {len(facts)} facts; expected its lines numbered from 1")
    return Story(task, tuple(facts), tuple(questions))


def _split_number(line: str, last: int) -> tuple[int, str]:
    """Returns a line's number and the rest of it; `last` is the number of the line before."""
    number, _, text = line.partition(" ")
    expected = "1" if last == 0 else f"{last + 1}, or 1 for a new story"
    if not re.fullmatch("[0-9]{1,9}", number):
        raise DataError(f"{line!r} does not start with a line number; expected {expected}")
    if int(number) not in (1, last + 1):
        raise DataError(f"line number {number}; expected {expected}")
    return int(number), text


def _parse_fact(text: str) -> str:
    if not text.rstrip().endswith(tuple(FACT_ENDS)):
        raise DataError(f"{text!r} is no fact, which ends with '.', and no question with tabs")
    return _checked_sentence(text)


def _parse_question(text: str, fact_at: Mapping[str, int]) -> Question:
    fields = text.split("\t")
    if len(fields) not in (2, 3):
        what = f"{text!r} has {len(fields)} fields separated by tabs"
        raise DataError(f"{what}; expected question, answer and perhaps supporting facts")
    question, answer, supporting = [*fields, ""][:3]
    if not question.rstrip().endswith(tuple(QUESTION_ENDS)):
        raise DataError(f"question {question!r} does not end with '?'")
    if len(answer.split()) != 1:
        raise DataError(f"answer {answer!r}; expected one word, or a list such as 'milk,apple'")
    if not fact_at:
        raise DataError(f"question {question!r} comes before any fact")
    numbers = supporting.replace(",", " ").split()
    for number in numbers:
        if number not in fact_at:
            raise DataError(f"supporting fact {number!r}; expected one of {', '.join(fact_at)}")
    return Question(
        text=_checked_sentence(question),
        answer=sys.intern(answer.strip()),
        num_facts=len(fact_at),
        supporting=tuple(fact_at[number] for number in numbers),
    )


def _checked_sentence(text: str) -> str:
    if not 1 <= len(words(text)) <= LONGEST:
        raise DataError(f"{text!r} has {len(words(text))} words; expected 1 to {LONGEST}")
    return sys.intern(text.strip())


def words(sentence: str) -> list[str]:
    """Returns the words of a sentence in lower case, without the marks that end sentences."""
    return sentence.lower().translate(_WITHOUT_MARKS).split()
