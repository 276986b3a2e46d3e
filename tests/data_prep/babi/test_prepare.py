"""The bAbI data set: hand-made archives with arrays computed by hand, and the real archive."""

import h5py
import numpy as np
import pytest

from rrn.data_prep import input_files
from rrn.data_prep.babi.stories import SPLITS
from tests.data_prep.babi.helpers import TRAIN, contents, make_archive, prepare, whole_folder

VALID = "1 Daniel moved to the bathroom.\n2 Where is Daniel?\tgarden\t1\n"
TEST = "1 Mary got the milk.\n2 Where is Mary?\tBathroom\t1\n"


# Stories to the file.


def test_arrays_computed_by_hand(tmp_path):
    archive = make_archive(
        tmp_path / "babi.tar.gz",
        {
            "top/README.txt": "not read",
            "top/en-valid-10k/qa1_test.txt": TEST,
            "top/en-valid-10k/qa1_valid.txt": VALID,
            "top/en-valid-10k/qa1_train.txt": TRAIN,
            "top/hn-10k/qa1_train.txt": "not read",
        },
    )
    assert prepare(archive, tmp_path / "babi.h5", "--tasks", "1", "--seed", "7") == 0
    datasets, attributes = contents(tmp_path / "babi.h5")
    assert attributes == {
        "schema": "babi",
        "version": 1,
        "source": "babi.tar.gz",
        "sha256": input_files.checksum(archive),
        "folder": "en-valid-10k",
        "notes": "",
        "seed": 7,
    }
    assert datasets == {
        # Daniel and garden are not in the training split.
        "vocabulary": [
            *["<unk>", "apple", "bathroom", "carrying", "got", "is", "john", "mary"],
            *["milk", "milk,apple", "moved", "the", "to", "what", "where"],
        ],
        "sentences/tokens": [
            [0, 10, 12, 11, 2],  # 0 daniel moved to the bathroom
            [6, 4, 11, 8, 0],  # 1 john got the milk
            [6, 10, 12, 11, 2],  # 2 john moved to the bathroom
            [7, 4, 11, 1, 0],  # 3 mary got the apple
            [7, 4, 11, 8, 0],  # 4 mary got the milk
            [7, 10, 12, 11, 2],  # 5 mary moved to the bathroom
            [13, 5, 7, 3, 0],  # 6 what is mary carrying
            [14, 5, 0, 0, 0],  # 7 where is daniel
            [14, 5, 6, 0, 0],  # 8 where is john
            [14, 5, 7, 0, 0],  # 9 where is mary
        ],
        "sentences/length": [5, 4, 5, 4, 4, 5, 4, 3, 3, 3],
        "train/task": [1, 1, 1],
        "train/story": [0, 0, 1],
        "train/question": [9, 6, 8],
        "train/answer": [2, 9, 2],
        "train/num_facts": [2, 3, 1],
        "train/facts": [5, 1, 3, 2],
        "train/story_start": [0, 3, 4],
        "train/supporting": [0, 2, 1, 0],
        "train/supporting_start": [0, 1, 3, 4],
        "valid/task": [1],
        "valid/story": [0],
        "valid/question": [7],
        "valid/answer": [0],
        "valid/num_facts": [1],
        "valid/facts": [0],
        "valid/story_start": [0, 1],
        "valid/supporting": [0],
        "valid/supporting_start": [0, 1],
        "test/task": [1],
        "test/story": [0],
        "test/question": [9],
        "test/answer": [2],
        "test/num_facts": [1],
        "test/facts": [4],
        "test/story_start": [0, 1],
        "test/supporting": [0],
        "test/supporting_start": [0, 1],
    }
    with h5py.File(tmp_path / "babi.h5") as file:
        dtypes = {name: str(file[name].dtype) for name in ("sentences/tokens", "sentences/length")}
        assert dtypes == {"sentences/tokens": "uint16", "sentences/length": "uint8"}
        assert file["train/task"].dtype == np.uint8


def test_a_folder_gives_what_its_archive_gives(tmp_path):
    files = whole_folder("en-valid")
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    archive = make_archive(tmp_path / "babi.tar.gz", files)
    assert prepare(archive, tmp_path / "archive.h5", "--folder", "en-valid") == 0
    expected, _ = contents(tmp_path / "archive.h5")
    folder = tmp_path / "top" / "en-valid"
    assert prepare(folder, tmp_path / "folder.h5", "--folder", "en-valid") == 0
    found, attributes = contents(tmp_path / "folder.h5")
    assert found == expected
    assert (attributes["source"], attributes["sha256"]) == ("en-valid", "")


# Wrong input.


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"top/paper.txt": "text"}, "no files like en-valid-10k/qa1_train.txt in it"),
        ({"top/en-valid-10k/qa21_train.txt": TRAIN}, "does not start with qaN_, N from 1 to 20"),
        (
            {"top/en-valid-10k/qa1_train.txt": TRAIN, "other/en-valid-10k/qa1_train.txt": TRAIN},
            "task and split are those of top/en-valid-10k/qa1_train.txt",
        ),
    ],
)
def test_files_that_should_not_be_there(tmp_path, capsys, files, message):
    archive = make_archive(tmp_path / "babi.tar.gz", files)
    assert prepare(archive, tmp_path / "babi.h5") == 1
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("{}", "--tasks 1,21", "--tasks"),
        ("simulated", "--stories 0", "--stories"),
        ("{}", "--sha256 abc", "expected abc"),
        ("{}", "--folder en --stories 5", "--stories does not go with --source"),
        ("{}", "--folder hn --supplement en", "--folder hn: "),
        ("{}", "--supplement qa3.txt", "--supplement invalid choice: 'qa3.txt'"),
        ("{}/nothing", "", "nothing"),
        ("simulated", "--supplement en", "--supplement does not go with --source simulated"),
        ("simulated", "--sha256 abc", "--sha256 does not go with --source simulated"),
        ("simulated", "--folder hn", "--folder hn: "),
    ],
)
def test_wrong_options(tmp_path, capsys, source, options, message):
    archive = make_archive(tmp_path / "babi.tar.gz", whole_folder("en"))
    try:
        source = source.format(archive)
        assert prepare(source, tmp_path / "babi.h5", *options.split()) == 1
    except SystemExit as end:  # of the parser
        assert end.code == 2
    assert message in capsys.readouterr().err


# The real archive.


def test_real_counts(babi_h5):
    datasets, attributes = contents(babi_h5)
    counts = {split: np.bincount(datasets[f"{split}/task"], minlength=21)[1:] for split in SPLITS}
    train, valid = np.full(20, 9000), np.full(20, 1000)
    train[2] = 925  # from `en`, less 15 stories with 5 questions each
    train[17], valid[17] = 8996, 1004
    train[19], valid[19] = 9002, 998
    np.testing.assert_array_equal(counts["train"], train)
    np.testing.assert_array_equal(counts["valid"], valid)
    np.testing.assert_array_equal(counts["test"], np.full(20, 1000))
    assert len(datasets["vocabulary"]) == 177  # as many as the paper's authors had
    assert max(max(datasets[f"{split}/num_facts"]) for split in SPLITS) == 228
    assert len(datasets["sentences/length"]) == 3647
    answers = {answer for split in SPLITS for answer in datasets[f"{split}/answer"]}
    assert 0 not in answers and len(answers) == 60
    assert attributes["notes"] == (
        "Task 3: no en-valid-10k training file; 925 training questions from en (15 stories that"
        " are also in validation dropped)"
    )


# Other folders of the archive.


@pytest.mark.parametrize("folder", ["hn", "shuffled-10k", "en-valid-10k-nosf"])
def test_folders_of_other_letters_and_without_supporting_facts(folder, tmp_path):
    files = whole_folder(folder)
    if folder.endswith("nosf"):
        files = {name: text.replace("\tgarden\t1", "\tgarden") for name, text in files.items()}
    archive = make_archive(tmp_path / "babi.tar.gz", files)
    assert prepare(archive, tmp_path / "babi.h5", "--folder", folder) == 0
    datasets, attributes = contents(tmp_path / "babi.h5")
    assert attributes["folder"] == folder
    assert (len(datasets["train/supporting"]) > 0) == (not folder.endswith("nosf"))
