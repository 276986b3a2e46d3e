"""bAbI's text files, and what is said of wrong ones."""

import pytest

from rrn.data_prep import DataError
from rrn.data_prep.babi.stories import Question, Story, parse_stories
from tests.data_prep.babi.helpers import FACT, TRAIN


def test_parse_stories():
    assert parse_stories(TRAIN.encode(), 1, "qa1_train.txt") == [
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


def test_parse_stories_takes_windows_line_ends():
    windows = TRAIN.replace("\n", "\r\n").encode()
    assert parse_stories(windows, 1, "f") == parse_stories(TRAIN.encode(), 1, "f")


@pytest.mark.parametrize(
    ("line", "text", "message"),
    [
        (1, "Mary moved.\n", "'Mary moved.' does not start with a line number; expected 1"),
        (1, "2 Mary moved.\n", "line number 2; expected 1"),
        (1, "9" * 5000 + " Mary moved.\n", "does not start with a line number; expected 1"),
        (2, FACT + "3 John moved.\n", "line number 3; expected 2, or 1 for a new story"),
        (2, FACT + "\n", "'' does not start with a line number; expected 2, or 1"),
        (
            2,
            FACT + "2 Where is Mary? bathroom 1\n",
            "'Where is Mary? bathroom 1' is neither a fact",
        ),
        (2, FACT + "2 Where is Mary?\tbathroom\n", "has 2 fields separated by tabs; expected 3"),
        (2, FACT + "2 Where is Mary?\tbathroom\t1\t1\n", "has 4 fields separated by tabs"),
        (2, FACT + "2 Where is Mary\tbathroom\t1\n", "'Where is Mary' does not end with '?'"),
        (2, FACT + "2 Where is Mary?\t \t1\n", "answer ' '; expected one word"),
        (2, FACT + "2 Where is Mary?\tthe bathroom\t1\n", "answer 'the bathroom'; expected one"),
        (2, FACT + "2 Where is Mary?\tbathroom\t\n", "'Where is Mary?' has no supporting fact"),
        (
            2,
            FACT + "2 Where is Mary?\tbathroom\t2\n",
            "supporting fact '2' is not the line of an earlier fact of this story; expected 1",
        ),
        (2, FACT + "2 Where is Mary?\tbathroom\t1 x\n", "supporting fact 'x' is not the line"),
        (1, "1 Where is Mary?\tbathroom\t1\n", "'Where is Mary?' comes before any fact"),
        (1, FACT, "no question follows the story's last fact 'Mary moved to the bathroom.'"),
        (9, TRAIN + FACT + FACT, "no question follows the story's last fact"),
        (2, FACT + "2 .\n", "'.' has 0 words; expected 1 to 255"),
        (1, "1 " + "very " * 256 + ".\n", "has 256 words; expected 1 to 255"),
    ],
)
def test_parse_stories_says_what_is_wrong(line, text, message):
    with pytest.raises(DataError) as error:
        parse_stories(text.encode(), 1, "qa1_train.txt")
    assert str(error.value).startswith(f"qa1_train.txt, line {line}: ")
    assert message in str(error.value)


def test_parse_stories_of_an_empty_file():
    with pytest.raises(DataError, match=r"^qa1_train\.txt: empty; expected lines like '1 Mary mov"):
        parse_stories(b"", 1, "qa1_train.txt")


def test_parse_stories_of_another_encoding():
    with pytest.raises(DataError, match=r"qa1_train.txt, line 2: b'2 Zo\\xeb.' is not UTF-8 text"):
        parse_stories(FACT.encode() + b"2 Zo\xeb.\n", 1, "qa1_train.txt")
