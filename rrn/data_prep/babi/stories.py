"""bAbI's stories, and how their text files are read."""

import codecs
import itertools
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from rrn.data_prep import DataError
from rrn.data_prep.babi.schema import UNKNOWN

TASKS = range(1, 21)
SPLITS = {"train": "training", "valid": "validation", "test": "test"}
LONGEST = 255  # words in a sentence, because lengths are stored as uint8
FACT_ENDS, QUESTION_ENDS = ".!;。！；।", "?？"  # noqa: RUF001
# What a file has whose line numbers run through all its stories: more questions than the published
# stories, of which none has more than 12, or some, of which none refers to what is before another.
MOST_QUESTIONS, SOME_QUESTIONS = 12, 4
_WITHOUT_MARKS = dict.fromkeys(map(ord, FACT_ENDS + QUESTION_ENDS))


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked in the course of a story.

    Attributes:
      text: the question, with its question mark.
      answer: one word, or a list such as "milk,apple".
      num_facts: how many facts of the story are told before the question.
      supporting: positions of the supporting facts, from 0, among the story's facts; none where
        the file does not tell them.
    """

    text: str
    answer: str
    num_facts: int
    supporting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A story.

    Attributes:
      task: the story's task, 1 to 20.
      facts: the facts' sentences, in the order in which they are told.
      questions: the questions, in the order in which they are asked.
    """

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
    mark are passed over.

    Args:
      data: the file's bytes, UTF-8.
      task: the task, 1 to 20.
      file: the file's name, for error messages.

    Raises:
      DataError: a line is malformed, the file is empty or ends within a story, or its line numbers
        run on through several stories.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    if not data.strip():
        raise DataError(f"{file}: empty; expected lines like '1 Mary moved to the bathroom.'")
    if not data.endswith(b"\n"):
        raise DataError(
            f"{file}: its last line {data.splitlines()[-1]!r} has no end; get the file again if a"
            " part is lost, or else end the line"
        )
    stories, facts, questions = [], [], []
    fact_at = {}  # line number in the story -> position of the fact
    line, last = 0, 0
    try:
        for line, raw in enumerate(data.splitlines(), start=1):  # noqa: B007 (used in the error)
            if not raw.strip():
                continue
            number, text = _split_number(raw, last)
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
    if len(stories) == 1 and _looks_like_several(*stories):
        raise DataError(
            f"{file}: its line numbers run from 1 to {last} and never start again, which makes one"
            f" story of {len(facts)} facts and {len(questions)} questions; expected the lines of"
            " each story to be numbered from 1"
        )
    return stories


def _looks_like_several(story: Story) -> bool:
    questions = story.questions
    refers_back = any(
        min(question.supporting, default=earlier.num_facts) < earlier.num_facts
        for earlier, question in itertools.pairwise(questions)
    )
    return len(questions) > (MOST_QUESTIONS if refers_back else SOME_QUESTIONS - 1)


def _end_story(task: int, facts: list[str], questions: list[Question]) -> Story:
    if not questions or questions[-1].num_facts < len(facts):
        raise DataError(f"no question follows the story's last fact {facts[-1]!r}; is a part lost?")
    return Story(task, tuple(facts), tuple(questions))


def _split_number(raw: bytes, last: int) -> tuple[int, str]:
    """Returns a line's number and the rest of it; `last` is the number of the line before."""
    try:
        number, _, text = raw.decode().partition(" ")
    except UnicodeDecodeError:
        raise DataError(f"{raw!r} is not UTF-8 text") from None
    if "\0" in text:
        raise DataError(f"{raw!r} has a NUL character; expected text")
    expected = "1" if last == 0 else f"{last + 1}, or 1 for a new story"
    if not re.fullmatch("[0-9]{1,9}", number):
        raise DataError(f"{raw.decode()!r} does not start with a line number; expected {expected}")
    if int(number) not in (1, last + 1):
        raise DataError(f"line number {number}; expected {expected}")
    return int(number), text


def _parse_fact(text: str) -> str:
    if not text.rstrip().endswith(tuple(FACT_ENDS)):
        raise DataError(
            f"{text!r} is neither a fact, which ends with '.', nor a question with its answer and,"
            " where they are known, its supporting facts, separated by tabs"
        )
    return _checked_sentence(text)


def _parse_question(text: str, fact_at: Mapping[str, int]) -> Question:
    fields = text.split("\t")
    if len(fields) not in (2, 3):
        raise DataError(
            f"{text!r} has {len(fields)} fields separated by tabs; expected 2 or 3: question,"
            " answer and, where they are known, supporting facts"
        )
    question, answer, supporting = [*fields, ""][:3]
    if not question.rstrip().endswith(tuple(QUESTION_ENDS)):
        raise DataError(f"question {question!r} does not end with '?'")
    if len(answer.split()) != 1:
        raise DataError(f"answer {answer!r}; expected one word, or a list such as 'milk,apple'")
    _refuse_unknown(answer)
    if not fact_at:
        raise DataError(f"question {question!r} comes before any fact")
    numbers = supporting.replace(",", " ").split()
    for number in numbers:
        if number not in fact_at:
            raise DataError(
                f"supporting fact {number!r} is not the line of an earlier fact of this story;"
                f" expected {', '.join(fact_at)}"
            )
    return Question(
        text=_checked_sentence(question),
        answer=sys.intern(answer.strip()),
        num_facts=len(fact_at),
        supporting=tuple(fact_at[number] for number in numbers),
    )


def _refuse_unknown(text: str) -> None:
    if UNKNOWN in words(text):
        raise DataError(f"{text!r} has the word {UNKNOWN}, which stands for unknown words")


def _checked_sentence(text: str) -> str:
    if not 1 <= len(words(text)) <= LONGEST:
        raise DataError(f"{text!r} has {len(words(text))} words; expected 1 to {LONGEST}")
    _refuse_unknown(text)
    return sys.intern(text.strip())


def words(sentence: str) -> list[str]:
    """Returns the words of a sentence in lower case, without the marks that end sentences.

    Args:
      sentence: a fact or a question.
    """
    return sentence.lower().translate(_WITHOUT_MARKS).split()
