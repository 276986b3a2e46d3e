"""bAbI: 20 question answering tasks over short stories (Weston et al., arXiv 1502.05698).

    python -m data_prep babi --source tasks_1-20_v1-2.tar.gz --out data/babi.h5

reads one folder of the archive and writes one HDF5 file.

Schema "babi", version 1. File attributes:

    schema   "babi"
    version  1
    source   the archive's or folder's name, or its URL
    sha256   the archive's checksum; "" for a folder
    folder   the archive's folder that was read
    notes    what was done about missing files, in plain sentences; "" if nothing
    seed     seed of all random choices

Datasets, with V words, S sentences of at most L words, Q questions, F facts and P supporting facts:

    vocabulary          [V] strings. The index is the token id. Entry 0 is "<unk>", the rest are the
                        words of the training split's facts, questions and answers, sorted. A word
                        that occurs only in validation or test has id 0. An answer counts as one
                        word, also if it is a list such as "milk,apple".
    sentences/tokens    [S, L] uint16. The distinct facts and questions of all splits, zero padded.
    sentences/length    [S] uint8. Words of the sentence.
    and for each split in train, valid, test:
    {split}/task        [Q] uint8. 1 to 20. Questions are in order of task. Those of one task are
                        in the order of its file.
    {split}/story       [Q] int32. Index of the question's story in this split.
    {split}/question    [Q] int32. Sentence id.
    {split}/answer      [Q] int32. Token id; 0 if the answer does not occur in training.
    {split}/num_facts   [Q] int32. How many facts of the story are told before the question.
    {split}/facts       [F] int32. Sentence ids of the facts, story after story.
    {split}/story_start [stories + 1] int32. Story s has facts[story_start[s]:story_start[s + 1]].
    {split}/supporting  [P] int32. Supporting facts, as positions among the story's facts.
    {split}/supporting_start [Q + 1] int32. Question q has
                        supporting[supporting_start[q]:supporting_start[q + 1]]; none where the file
                        does not tell them. Training and evaluation do not need them.

So the facts that question q may use are, with s = story[q],
facts[story_start[s] : story_start[s] + num_facts[q]].
"""

import argparse
import time
from collections.abc import Mapping, Sequence

import numpy as np

from rrn.data_prep import DataError, hdf5, input_files
from rrn.data_prep.babi import schema
from rrn.data_prep.babi.schema import UNKNOWN
from rrn.data_prep.babi.splits import FOLDERS, collect, folder_of, hold_out, simulate_all
from rrn.data_prep.babi.stories import SPLITS, TASKS, Story, words
from rrn.data_prep.failures import SEED, number, out_file

URL = "http://www.thespermwhale.com/jaseweston/babi/tasks_1-20_v1-2.tar.gz"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of `python -m data_prep babi`."""
    parser.add_argument(
        "--source", default=URL, help="archive, unpacked folder, URL, or 'simulated' (%(default)s)"
    )
    parser.add_argument(
        "--out", type=out_file, default="data/babi.h5", help="file to write (%(default)s)"
    )
    parser.add_argument(
        "--folder",
        choices=FOLDERS,
        metavar="F",
        default="en-valid-10k",
        help=f"in the archive, one of {', '.join(FOLDERS)} (%(default)s)",
    )
    parser.add_argument(
        "--supplement",
        choices=["en"],
        help="fill missing files from the archive's folder en",
    )
    parser.add_argument(
        "--seed", type=SEED, default=0, help="of validation stories and simulation (%(default)s)"
    )
    parser.add_argument("--sha256", help="checksum that the archive must have")
    parser.add_argument(
        "--tasks", metavar="N,N...", type=_task_list, default=TASKS, help="only these tasks"
    )
    parser.add_argument(
        "--stories",
        metavar="N",
        type=number(),
        help="simulated stories of each task for training; a tenth of it for validation and for"
        " test (the folder's numbers of questions)",
    )


def _task_list(text: str) -> tuple[int, ...]:
    numbers = text.split(",")
    if not set(numbers) <= set(map(str, TASKS)):
        raise argparse.ArgumentTypeError(f"{text!r}; expected numbers from 1 to 20, like 1,3,19")
    return tuple(sorted(set(map(int, numbers))))


def run(args: argparse.Namespace) -> None:
    """Prepares the data set as the options say and prints what the file holds."""
    start = time.monotonic()
    _check_options(args)
    if args.source == "simulated":
        stories = simulate_all(args.tasks, args.folder, args.seed, args.stories)
        source, sha256, notes = args.source, "", ["All questions are simulated"]
    else:
        path = input_files.locate(args.source, args.out.parent, args.sha256)
        source = args.source if input_files.is_url(args.source) else path.resolve().name
        folders = {args.folder, "en"} if args.supplement == "en" else {args.folder}
        members = input_files.read_members(path, lambda name: folder_of(name) in folders)
        stories, notes = collect(members, source, args.folder, args.supplement == "en", args.tasks)
        sha256 = input_files.checksum(path)
        if args.supplement and not notes:
            print("remark: nothing is missing, --supplement is not used")
    if "valid" not in FOLDERS[args.folder]:
        stories["train"], stories["valid"] = hold_out(stories["train"], args.seed)
        notes.append("Validation is a tenth of the training stories of each task, drawn by seed")
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
    schema.check(datasets)
    hdf5.write(args.out, datasets, attributes)
    print(_summary(datasets, notes))
    print(f"{args.out} written in {time.monotonic() - start:.1f} s")


def _check_options(args):
    simulated = args.source == "simulated"
    if (simulated or args.supplement) and not args.folder.startswith("en"):
        raise DataError(f"--folder {args.folder}: only its stories would not be in plain English")
    for name in ("supplement", "sha256") if simulated else ("stories",):
        if getattr(args, name) is not None:
            raise DataError(f"--{name} does not go with --source {args.source}")


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


def encode(stories: Mapping[str, Sequence[Story]]) -> dict[str, np.ndarray]:
    """Returns the datasets of the schema above, by name, of each split's stories."""
    known = {word for text in _sentences(stories["train"]) for word in words(text)}
    known |= {q.answer.lower() for story in stories["train"] for q in story.questions}
    vocabulary = [UNKNOWN, *sorted(known)]
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


def _starts(lengths):
    return np.cumsum([0, *lengths], dtype=np.int32)
