"""bAbI: 20 question answering tasks over short stories (Weston et al., arXiv 1502.05698).

    python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --out data/babi.h5

reads one folder of the archive (its stories in English) and writes one HDF5 file.

Schema "babi", version 1. File attributes:

    schema   "babi"
    version  1
    source   the archive's or folder's name, or its URL
    sha256   the archive's checksum; "" for a folder
    folder   the archive's folder that was read
    notes    what was done about missing files, in plain sentences; "" if nothing
    seed     seed of all random choices

Datasets; V words, S sentences of at most L words, Q questions, F facts, P supporting facts:

    vocabulary          [V] strings. The index is the token id. Entry 0 is "<unk>", the rest are the
                        words of the training split's facts, questions and answers, sorted. A word
                        that occurs only in validation or test has id 0. An answer is one word, also
                        when it is a list such as "milk,apple".
    sentences/tokens    [S, L] uint16. The distinct facts and questions of all splits, zero padded.
    sentences/length    [S] uint8. Words of the sentence.
    and for each split in train, valid, test:
    {split}/task        [Q] uint8. 1 to 20. Questions are in order of task, then as in the file.
    {split}/story       [Q] int32. Index of the question's story in this split.
    {split}/question    [Q] int32. Sentence id.
    {split}/answer      [Q] int32. Token id; 0 if the answer does not occur in training.
    {split}/num_facts   [Q] int32. Facts of the story told before the question.
    {split}/facts       [F] int32. Sentence ids of the facts, story after story.
    {split}/story_start [stories + 1] int32. Story s has facts[story_start[s]:story_start[s + 1]].
    {split}/supporting  [P] int32. Supporting facts, as positions among the story's facts.
    {split}/supporting_start [Q + 1] int32. Question q has
                        supporting[supporting_start[q]:supporting_start[q + 1]].

So the facts that question q may use are, with s = story[q],
facts[story_start[s] : story_start[s] + num_facts[q]].
"""

import argparse
import importlib
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np

from data_prep import DataError, hdf5, sources

URL = "http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz"
TASKS = range(1, 21)
SPLITS = {"train": "training", "valid": "validation", "test": "test"}
UNKNOWN = "<unk>"
LONGEST = 255  # words of a sentence: lengths are stored as uint8

# The files of each folder and about how many questions each holds. Where there is no validation
# file, a tenth of the training stories becomes validation.
FOLDERS = {
    "en-valid-10k": {"train": 9000, "valid": 1000, "test": 1000},
    "en-10k": {"train": 10000, "test": 1000},
    "en-valid": {"train": 900, "valid": 100, "test": 1000},
    "en": {"train": 1000, "test": 1000},
}
FILE_NAME = re.compile(r"qa\d+_(.*_)?(train|valid|test)\.txt")


@dataclass(frozen=True, slots=True)
class Question:
    """A question asked in the course of a story.

    Attributes:
        text: the question, with its question mark.
        answer: one word, or a list such as "milk,apple".
        num_facts: facts of the story told before the question.
        supporting: positions of the supporting facts, from 0, among the story's facts.
    """

    text: str
    answer: str
    num_facts: int
    supporting: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """A story of `task` (1 to 20): facts as sentences, and questions, both in order of telling."""

    task: int
    facts: tuple[str, ...]
    questions: tuple[Question, ...]


# Command line.


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep babi`."""
    parser.add_argument(
        "--source", default=URL, help="archive, unpacked folder, URL, or 'simulated' (%(default)s)"
    )
    parser.add_argument(
        "--out", type=Path, default=Path("data/babi.h5"), help="file to write (%(default)s)"
    )
    parser.add_argument(
        "--folder", choices=FOLDERS, default="en-valid-10k", help="in the archive (%(default)s)"
    )
    parser.add_argument(
        "--supplement",
        metavar="X",
        help="fill missing files from X: a text file qaN_..., 'en' (that folder of the archive),"
        " 'simulated' (stories), or 'simulated:3' (for task 3 only)",
    )
    parser.add_argument(
        "--allow-missing", action="store_true", help="leave out what is missing instead of failing"
    )
    parser.add_argument(
        "--seed", type=int, default=0, help="of validation stories and simulation (%(default)s)"
    )
    parser.add_argument("--sha256", help="checksum that the archive must have")
    parser.add_argument(
        "--tasks", metavar="N,N...", type=_task_list, default=TASKS, help="only these tasks"
    )
    parser.add_argument(
        "--stories",
        metavar="N",
        type=int,
        help="simulated stories of each task for training; a tenth of it for validation and for"
        " test (the folder's numbers of questions)",
    )
    parser.add_argument("--text", metavar="DIR", type=Path, help="also write the stories as text")
    parser.add_argument(
        "--answer",
        metavar="SPLIT",
        choices=SPLITS,
        help="also answer the split's questions by rules from the text alone, and show how often"
        " that gives the told answer",
    )
    parser.add_argument(
        "--compare",
        metavar=("A", "B"),
        nargs=2,
        type=Path,
        help="prepare nothing, but show how alike the stories of two prepared files are",
    )


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say and prints what the file holds.

    Raises:
        DataError: a file is missing or wrong.
    """
    start = time.monotonic()
    if args.compare:
        print(_simulator("compare").report(*args.compare))
        return
    if args.seed < 0:
        raise DataError(f"--seed {args.seed}: a seed is at least 0")
    if args.source == "simulated":
        if args.supplement or args.sha256 or args.allow_missing:
            raise DataError(
                "--supplement, --sha256 and --allow-missing go with an archive, not with"
                " --source simulated"
            )
        source, sha256, notes = args.source, "", ["All questions are simulated"]
        stories = _simulate_all(args.tasks, args.folder, args.seed, args.stories)
    else:
        if args.stories is not None:
            raise DataError("--stories goes with --source simulated only")
        path = sources.locate(args.source, args.out.parent, args.sha256)
        supplement, sha256 = args.supplement, sources.checksum(path)
        source = args.source if sources.is_url(args.source) else path.resolve().name
        folders = {args.folder, "en"} if supplement == "en" else {args.folder}
        members = sources.read_members(path, lambda name: _folder_of(name) in folders)
        supply = _supplier(supplement, members, args.folder, args.seed)
        stories, notes = _collect(
            members, source, args.folder, supply, args.allow_missing, args.tasks
        )
        if supplement and not notes:
            print("remark: nothing is missing, --supplement is not used")
    if "valid" not in FOLDERS[args.folder]:
        stories["train"], stories["valid"] = hold_out(stories["train"], args.seed)
        notes.append("Validation is a tenth of the training stories of each task, drawn by seed")
    if args.text:
        _simulator("text").write(args.text, stories)
    if args.answer:
        print(_simulator("answerer").report(stories[args.answer]))
    datasets = encode(stories)
    attributes = {
        "schema": "babi",
        "version": 1,
        "source": source,
        "sha256": sha256,
        "folder": args.folder,
        "notes": ". ".join(notes),
        "seed": args.seed,
    }
    hdf5.write(args.out, datasets, attributes)
    print(_summary(datasets, notes))
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")


def _summary(datasets: Mapping[str, np.ndarray], notes: Sequence[str]) -> str:
    lines = [f"{'split':8}{'questions':>12}{'stories':>12}{'facts':>12}"]
    for split in SPLITS:
        questions = len(datasets[f"{split}/task"])
        stories = len(datasets[f"{split}/story_start"]) - 1
        facts = len(datasets[f"{split}/facts"])
        lines.append(f"{split:8}{questions:12,}{stories:12,}{facts:12,}")
    words, sentences = len(datasets["vocabulary"]), len(datasets["sentences/length"])
    lines.append(f"{words:,} words in the vocabulary, {sentences:,} distinct sentences")
    return "\n".join([*lines, *notes])


# From the archive's files to stories.


def _folder_of(name: str) -> str | None:
    """Returns the folder that directly holds the archive's file `name` if it is a task's file."""
    *folders, file = name.split("/")
    return folders[-1] if folders and FILE_NAME.fullmatch(file) else None


def _parse_folder(members: Mapping[str, bytes], folder: str) -> dict[tuple[int, str], list[Story]]:
    """Returns the stories of every file of `folder`, by task and split."""
    parsed, names = {}, {}
    for name, data in members.items():
        if _folder_of(name) == folder:
            key = _task_of(name), _split_of(name)
            if key in names:
                raise DataError(f"{name}: task and split are those of {names[key]}; keep only one")
            names[key] = name
            parsed[key] = parse_stories(data, key[0], name)
    return parsed


def _task_list(text: str) -> tuple[int, ...]:
    numbers = text.split(",")
    if not set(numbers) <= set(map(str, TASKS)):
        raise argparse.ArgumentTypeError(f"{text!r}; expected numbers from 1 to 20, like 1,3,19")
    return tuple(sorted(set(map(int, numbers))))


def _task_of(name: str) -> int:
    match = re.match(r"qa(\d+)_", name.split("/")[-1])
    if not match or int(match[1]) not in TASKS:
        raise DataError(f"{name}: the file's name does not start with qaN_, N from 1 to 20")
    return int(match[1])


def _split_of(name: str) -> str:
    return Path(name).stem.split("_")[-1]


# Takes a task and a split; returns where the stories are from, and the stories (none: no source).
Supply = Callable[[int, str], tuple[str, list[Story]]]


def _collect(
    members: Mapping[str, bytes],
    source: str,
    folder: str,
    supply: Supply,
    allow_missing: bool,
    tasks: Sequence[int] = TASKS,
) -> tuple[dict[str, list[Story]], list[str]]:
    """Returns the stories of each split in order of task, and notes on what was missing.

    Supplied stories that another split of the same task has too are dropped.
    """
    parsed = _parse_folder(members, folder)
    if not parsed:
        raise DataError(
            f"{source}: no files like {folder}/qa1_train.txt in it; give the bAbI archive"
            " tasks_1-20_v1-2.tar.gz, or another --folder"
        )
    notes, missing = [], []
    for task in tasks:
        for split in FOLDERS[folder]:
            if (task, split) in parsed:
                continue
            note = f"Task {task}: no {folder} {SPLITS[split]} file"
            origin, supplied = supply(task, split)
            if supplied:
                kept, dropped = _drop_shared(supplied, task, parsed)
                questions = sum(len(story.questions) for story in kept)
                notes.append(
                    f"{note}; {questions} {SPLITS[split]} questions from {origin}{dropped}"
                )
                parsed[task, split] = kept
            elif allow_missing:
                notes.append(f"{note}; left out")
            else:
                name = "" if "valid" in FOLDERS[folder] else "NAME_"
                missing.append(f"{folder}/qa{task}_{name}{split}.txt")
    if missing:
        raise DataError(
            f"{source}: missing {_listed(missing)}. Ways out: --supplement FILE (a bAbI text file"
            " qaN_....txt from elsewhere), --supplement en (the questions of the same"
            " archive's folder en), --supplement simulated, or --allow-missing (go on without)"
        )
    stories = {
        split: [story for task in tasks for story in parsed.get((task, split), [])]
        for split in SPLITS
    }
    if not stories["train"]:
        raise DataError(f"{source}: no training file in folder {folder}; the vocabulary needs one")
    return stories, notes


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - 5} more files" if len(names) > 5 else ""
    return ", ".join(names[:5]) + more


def _drop_shared(
    supplied: list[Story], task: int, parsed: Mapping[tuple[int, str], list[Story]]
) -> tuple[list[Story], str]:
    """Returns the supplied stories that no split of the task has, and a remark on the others."""
    shared = {split: set(parsed.get((task, split), [])) for split in SPLITS}
    kept = [story for story in supplied if not any(story in shared[split] for split in SPLITS)]
    if len(kept) == len(supplied):
        return kept, ""
    where = [SPLITS[split] for split in SPLITS if shared[split].intersection(supplied)]
    dropped = len(supplied) - len(kept)
    return kept, f" ({dropped} stories that are also in {' or '.join(where)} dropped)"


def _supplier(
    supplement: str | None, members: Mapping[str, bytes], folder: str, seed: int
) -> Supply:
    """Returns where to find the stories of missing files, as --supplement says."""
    if supplement is None:
        return lambda task, split: ("", [])
    if supplement == "en":
        smaller = _parse_folder(members, "en")
        return lambda task, split: ("en", smaller.get((task, split), []))
    if supplement.split(":")[0] == "simulated":
        _, _, only = supplement.partition(":")
        if only and only not in map(str, TASKS):
            raise DataError(f"--supplement {supplement}: {only!r} is not a task from 1 to 20")

        def simulated(task: int, split: str) -> tuple[str, list[Story]]:
            if only and task != int(only):
                return "", []
            return "the simulator", _simulate(task, split, FOLDERS[folder][split], seed)

        return simulated
    path = Path(supplement)
    if not path.is_file():
        raise DataError(
            f"--supplement {supplement}: no such file; give a bAbI text file, 'en' or 'simulated'"
        )
    its_task, its_split = _task_of(path.name), _split_of(path.name)
    its_stories = parse_stories(path.read_bytes(), its_task, path.name)

    def from_file(task: int, split: str) -> tuple[str, list[Story]]:
        # A name that ends with no split's name, such as qa3_more.txt, goes for any.
        fits = task == its_task and (split == its_split or its_split not in SPLITS)
        return path.name, its_stories if fits else []

    return from_file


def _simulate_all(
    tasks: Sequence[int], folder: str, seed: int, num_stories: int | None
) -> dict[str, list[Story]]:
    """Returns simulated stories for the splits of `folder`, in order of task.

    Where a task allows few different stories, one may occur in several splits, as in the archive.
    """
    if num_stories is not None and num_stories < 1:
        raise DataError(f"--stories {num_stories}: at least 1 is needed")
    stories: dict[str, list[Story]] = {split: [] for split in SPLITS}
    for split, num_questions in FOLDERS[folder].items():
        count = num_stories
        if count is not None and split != "train":
            count = max(1, count // 10)
        for task in tasks:
            stories[split] += _simulate(task, split, num_questions, seed, count)
    return stories


def _simulate(
    task: int, split: str, num_questions: int, seed: int, num_stories: int | None = None
) -> list[Story]:
    """Returns simulated stories with about `num_questions` questions, or `num_stories` of them.

    They come from `data_prep.babi_simulator.simulate(task, num_questions, rng) -> list[Story]`.
    """
    number = {} if num_stories is None else {"num_stories": num_stories}
    rng = np.random.default_rng((seed, task, list(SPLITS).index(split)))
    return _simulator().simulate(task, num_questions, rng, **number)


def _simulator(part: str = "") -> ModuleType:
    """Returns the simulator's package, or one of its modules; imported here, as it imports this."""
    try:
        return importlib.import_module(f"data_prep.babi_simulator{'.' + part if part else ''}")
    except ModuleNotFoundError as error:
        raise DataError(
            "simulated stories need the module data_prep.babi_simulator, which is not there;"
            " use an archive, and --supplement FILE or --supplement en for its missing files"
        ) from error


def hold_out(stories: Sequence[Story], seed: int) -> tuple[list[Story], list[Story]]:
    """Splits off a tenth of each task's stories for validation.

    Stories that are told more than once stay on one side. A task's draw depends on `seed` and on
    its own stories only.

    Returns:
        The training stories and the validation stories, both in the order given.
    """
    valid = set()
    for task in TASKS:
        distinct = list(dict.fromkeys(story for story in stories if story.task == task))
        rng = np.random.default_rng((seed, task))
        tenth = max(round(len(distinct) / 10), int(len(distinct) > 1))
        drawn = rng.permutation(len(distinct))[:tenth]
        valid.update(distinct[i] for i in drawn)
    return (
        [story for story in stories if story not in valid],
        [story for story in stories if story in valid],
    )


# From text to stories.


def parse_stories(data: bytes, task: int, file: str) -> list[Story]:
    """Returns the stories of one bAbI text file.

    Every line has its number in the story, from 1, then a fact or, separated by tabs, a question,
    its answer and the numbers of the supporting facts' lines:

        1 Mary moved to the bathroom.
        2 Where is Mary?<tab>bathroom<tab>1

    Args:
        data: the file's bytes, UTF-8.
        task: the task, 1 to 20.
        file: the file's name, for error messages.

    Raises:
        DataError: a line is malformed, or the file is empty or ends within a story.
    """
    if not data:
        raise DataError(f"{file}: empty; expected lines like '1 Mary moved to the bathroom.'")
    stories, facts, questions = [], [], []
    fact_at = {}  # line number in the story -> position of the fact
    line, last = 0, 0
    try:
        for line, raw in enumerate(data.splitlines(), start=1):  # noqa: B007 (used in the error)
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
    return stories


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
    expected = "1" if last == 0 else f"{last + 1}, or 1 for a new story"
    if not (number.isascii() and number.isdigit()):
        raise DataError(f"{raw.decode()!r} does not start with a line number; expected {expected}")
    if int(number) not in (1, last + 1):
        raise DataError(f"line number {number}; expected {expected}")
    return int(number), text


def _parse_fact(text: str) -> str:
    if not text.rstrip().endswith("."):
        raise DataError(
            f"{text!r} is neither a fact, which ends with '.', nor a question with its answer and"
            " supporting facts, separated by tabs"
        )
    return _checked_sentence(text)


def _parse_question(text: str, fact_at: Mapping[str, int]) -> Question:
    fields = text.split("\t")
    if len(fields) != 3:
        raise DataError(
            f"{text!r} has {len(fields)} fields separated by tabs; expected 3: question, answer,"
            " supporting facts"
        )
    question, answer, supporting = fields
    if not question.rstrip().endswith("?"):
        raise DataError(f"question {question!r} does not end with '?'")
    if len(answer.split()) != 1:
        raise DataError(f"answer {answer!r}; expected one word, or a list such as 'milk,apple'")
    if not fact_at:
        raise DataError(f"question {question!r} comes before any fact")
    numbers = supporting.split()
    if not numbers:
        raise DataError(f"question {question!r} has no supporting fact; expected line numbers")
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


def _checked_sentence(text: str) -> str:
    if not 1 <= len(words(text)) <= LONGEST:
        raise DataError(f"{text!r} has {len(words(text))} words; expected 1 to {LONGEST}")
    return sys.intern(text.strip())


def words(sentence: str) -> list[str]:
    """Returns the words of a sentence: lower-cased, without '.' and '?'."""
    return sentence.lower().replace(".", "").replace("?", "").split()


# From stories to arrays.


def encode(stories: Mapping[str, Sequence[Story]]) -> dict[str, np.ndarray]:
    """Returns the data sets of the schema (above), by name.

    Args:
        stories: the stories of each split ("train", "valid", "test"), in order of task.
    """
    vocabulary = _vocabulary(stories["train"])
    token = {word: i for i, word in enumerate(vocabulary)}
    texts = {text for split in SPLITS for text in _sentences(stories[split])}
    tokens = {text: tuple(token.get(word, 0) for word in words(text)) for text in texts}
    distinct = sorted(set(tokens.values()))
    position = {sentence: i for i, sentence in enumerate(distinct)}
    sentence = {text: position[tokens[text]] for text in texts}

    padded = np.zeros((len(distinct), max(map(len, distinct))), np.uint16)
    for row, ids in zip(padded, distinct, strict=True):
        row[: len(ids)] = ids
    datasets = {
        "vocabulary": np.array(vocabulary, object),
        "sentences/tokens": padded,
        "sentences/length": np.array([len(ids) for ids in distinct], np.uint8),
    }
    for split in SPLITS:
        for name, array in _encode_split(stories[split], sentence, token).items():
            datasets[f"{split}/{name}"] = array
    return datasets


def _sentences(stories: Sequence[Story]) -> set[str]:
    """Returns the distinct facts and questions."""
    facts = {fact for story in stories for fact in story.facts}
    return facts | {question.text for story in stories for question in story.questions}


def _vocabulary(stories: Sequence[Story]) -> list[str]:
    """Returns `UNKNOWN` and then the words of the stories, sorted."""
    found = {word for text in _sentences(stories) for word in words(text)}
    found |= {question.answer.lower() for story in stories for question in story.questions}
    return [UNKNOWN, *sorted(found - {UNKNOWN})]


def _encode_split(
    stories: Sequence[Story], sentence: Mapping[str, int], token: Mapping[str, int]
) -> dict[str, np.ndarray]:
    asked = [(s, question) for s, story in enumerate(stories) for question in story.questions]
    return {
        "task": np.array([stories[s].task for s, _ in asked], np.uint8),
        "story": np.array([s for s, _ in asked], np.int32),
        "question": np.array([sentence[question.text] for _, question in asked], np.int32),
        "answer": np.array(
            [token.get(question.answer.lower(), 0) for _, question in asked], np.int32
        ),
        "num_facts": np.array([question.num_facts for _, question in asked], np.int32),
        "facts": np.array([sentence[fact] for story in stories for fact in story.facts], np.int32),
        "story_start": _starts([len(story.facts) for story in stories]),
        "supporting": np.array([fact for _, q in asked for fact in q.supporting], np.int32),
        "supporting_start": _starts([len(question.supporting) for _, question in asked]),
    }


def _starts(lengths: Sequence[int]) -> np.ndarray:
    """Returns where each of the consecutive runs starts, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.int32)
