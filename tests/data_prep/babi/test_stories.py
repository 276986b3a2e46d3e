"""bAbI's text files, and what is said of wrong ones."""

import re

import pytest

from rrn.data_prep import DataError
from rrn.data_prep.babi.stories import Question, Story, parse_stories, words
from tests.data_prep.babi.helpers import FACT, TRAIN


def test_parse_stories():
    # Questions are equal whatever their supporting facts, but not as repr shows them.
    expected = [
        Story(
            task=1,
            facts=("Mary moved to the bathroom.", "John got the milk.", "Mary got the apple."),
            questions=(
                Question("Where is Mary?", "bathroom", num_facts=2, supporting=(0,)),
                # Lines 4 and 2 are the third and the second fact: line 3 is a question.
                Question("What is Mary carrying?", "milk,apple", num_facts=3, supporting=(2, 1)),
            ),
        ),
        Story(
            task=1,
            facts=("John moved to the Bathroom.",),
            questions=(Question("Where is John?", "bathroom", num_facts=1, supporting=(0,)),),
        ),
    ]
    assert repr(parse_stories(TRAIN.encode(), 1, "qa1_train.txt")) == repr(expected)


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "Mary moved.\n", "'Mary moved.' does not start with a line number; expected 1"),
        (1, "2 Mary moved.\n", "line number 2; expected 1"),
        (1, "1 Mary\0moved.\n", "has a NUL character; expected text"),
        (1, "9" * 5000 + " Mary moved.\n", "does not start with a line number; expected 1"),
        (2, FACT + "3 John moved.\n", "line number 3; expected 2, or 1 for a new story"),
        (2, FACT + "2 Where is Mary? garden 1\n", "'Where is Mary? garden 1' is no fact"),
        (2, FACT + "2 Where is Mary?\tbathroom\t1\t1\n", "has 4 fields separated by tabs"),
        (3, FACT + "\n3 Where is Mary?\tbathroom\t1\n", "line number 3; expected 2, or 1 for"),
        (2, FACT + "2 Where is Mary?\tbathroom\t1,x\n", "supporting fact 'x'; expected one of 1"),
        (2, FACT + "2 Where is Mary\tbathroom\t1\n", "'Where is Mary' does not end with '?'"),
        (2, FACT + "2 Where is Mary?\t \t1\n", "answer ' '; expected one word"),
        (2, FACT + "2 Where is Mary?\tthe bathroom\t1\n", "answer 'the bathroom'; expected one"),
        (
            2,
            FACT + "2 Where is Mary?\tgarden\t2\n",
            "supporting fact '2'; expected one of 1",
        ),
        (2, FACT + "2 Where is Mary?\tbathroom\t1 x\n", "supporting fact 'x'; expected one of 1"),
        (1, "1 Where is Mary?\tbathroom\t1\n", "'Where is Mary?' comes before any fact"),
        (1, FACT, "no question follows the story's last fact 'Mary moved to the bathroom.'"),
        (9, TRAIN + FACT + FACT, "no question follows the story's last fact"),
        (
            1501,
            "".join(f"{i} Mary slept.\n" for i in range(1, 1501)) + "1501 Who?\tmary\n",
            "a story has 1500 facts; expected its lines numbered from 1",
        ),
        (2, FACT + "2 .\n", "'.' has 0 words; expected 1 to 255"),
        (1, "1 " + "very " * 256 + ".\n", "has 256 words; expected 1 to 255"),
    ],
)
def test_parse_stories_says_what_is_wrong(line, text, message):
    with pytest.raises(DataError) as error:
        parse_stories(text.encode(), 1, "qa1_train.txt")
    assert str(error.value).startswith(f"qa1_train.txt, line {line}: ")
    assert message in str(error.value)


@pytest.mark.parametrize("content", [b"", b"\n \n", "\ufeff".encode()])
def test_parse_stories_of_an_empty_file(content):
    with pytest.raises(DataError, match=r"^qa1_train\.txt: empty; expected lines like '1 Mary mov"):
        parse_stories(content, 1, "qa1_train.txt")


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff" + TRAIN,
        TRAIN.replace("\n", "\r\n"),
        "\n" + TRAIN.replace("\n", "\n\n") + " \n",
        TRAIN.replace("4 2", "4, 2"),
        TRAIN.removesuffix("\n"),
    ],
)
def test_text_as_people_have_it_is_read_as_it_is_meant(text):
    expected = parse_stories(TRAIN.encode(), 1, "f")
    assert repr(parse_stories(text.encode(), 1, "f")) == repr(expected)


@pytest.mark.parametrize("end", ["", "\t", "\t "])
def test_supporting_facts_may_be_missing(end):
    text = re.sub(r"\t[\d ]+$", end, TRAIN, flags=re.MULTILINE)
    read = parse_stories(text.encode(), 1, "f")
    assert read == parse_stories(TRAIN.encode(), 1, "f")
    assert not any(question.supporting for story in read for question in story.questions)


@pytest.mark.parametrize("end", [".", "!", ";", "。", "।"])
def test_facts_end_as_people_end_them(end):
    (story,) = parse_stories(f"1 Mary moved{end}\n2 Where is Mary\uff1f\tgarden\n".encode(), 1, "f")
    assert words(story.facts[0]) == ["mary", "moved"]
    assert words(story.questions[0].text) == ["where", "is", "mary"]


def test_parse_stories_of_another_encoding():
    with pytest.raises(DataError, match=r"qa1_train\.txt: 'utf-8' codec.*expected UTF-8 text"):
        parse_stories(FACT.encode() + b"2 Zo\xeb.\n", 1, "qa1_train.txt")
