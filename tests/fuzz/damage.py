"""Random damage of files: archives, texts, prepared files, weights, checkpoints."""

import contextlib
import io
import random
import shutil
import tarfile

import numpy as np
import tensorflow as tf
from hypothesis import strategies as st

from rrn.data_prep import DataError, hdf5
from rrn.data_prep.__main__ import main as data_prep
from rrn.data_prep.sudoku import lists
from rrn.files.weights_file import Weights, read_weights, write_weights
from rrn.training.checkpoints import Checkpoints
from rrn.training.workdir import Workdir
from tests.fuzz.attempts import Change, Kind

STORY = "1 Mary moved to the bathroom.\n2 John got the milk.\n3 Where is Mary? \tbathroom\t1\n"
PUZZLE = "530070000600195000098000060800060003400803001700020006060000280000419005000080079\n"
PUZZLES = PUZZLE + PUZZLE.translate(str.maketrans("123456789", "234567891"))


def damage(content: bytes, rng: random.Random) -> bytes:
    """Returns the content with one kind of damage: bits, a cut, a page of zeros, a shift."""
    changed, place = bytearray(content), rng.randrange(len(content))
    kind = rng.randrange(6)
    if kind == 0:
        changed[place] ^= 1 << rng.randrange(8)
    elif kind == 1:
        for _ in range(rng.randrange(2, 20)):
            changed[rng.randrange(len(content))] = rng.randrange(256)
    elif kind == 2:
        del changed[place:]
    elif kind == 3:
        length = min(rng.choice([1, 16, 512]), len(content) - place)
        changed[place : place + length] = bytes(length)
    elif kind == 4:
        del changed[place : place + rng.randrange(1, 64)]
    else:
        changed[place:place] = content[: rng.randrange(1, 64)]
    return bytes(changed)


def damages(pattern: str = "", wrong: bool = True) -> st.SearchStrategy[Change]:
    """Damage of a file.

    Args:
      pattern: which file is damaged, or lost, where the input is a folder.
      wrong: whether it must be noticed: a text has no checksum.
    """

    def change(seed):
        rng = random.Random(seed)

        def apply(path):
            if pattern:
                path = rng.choice(sorted(path.glob(pattern)))
                if not rng.randrange(8):
                    return path.unlink()
            return path.write_bytes(damage(path.read_bytes(), rng))

        return Change(apply, wrong=wrong, words=f"damage {seed}")

    return st.integers(0, 2**63).map(change)


def _write_prepared(path):
    arrays = {"train/label": np.arange(4000) % 10, "words": np.array(["a", "b"], object)}
    hdf5.write(path, arrays, {"schema": "s", "version": 1, "notes": "", "seed": 0})


def _read_prepared(path):
    contents = hdf5.read(path)
    return contents.attributes, {n: array.tolist() for n, array in contents.datasets.items()}


def _write_archive(path):
    with tarfile.open(path, "w:gz") as archive:
        for split in ("train", "valid", "test"):
            member = tarfile.TarInfo(f"top/en-valid-10k/qa1_{split}.txt")
            member.size = len(STORY)
            archive.addfile(member, io.BytesIO(STORY.encode()))


def _command(*arguments):
    """Runs a command of data_prep; its error line is raised again, without `error: `."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
        status = data_prep([str(argument) for argument in arguments])
    if status:
        raise DataError(said.getvalue().removeprefix("error: ").rstrip("\n"))


def _prepare_babi(path):
    out = path.parent / "out" / "babi.h5"
    _command("babi", "--source", path, "--tasks", "1", "--out", out)
    return _read_prepared(out)[1]


def _write_babi_texts(path):
    path.mkdir()
    for split in ("train", "valid", "test"):
        (path / f"qa1_{split}.txt").write_text(STORY)


def _write_npz(path):
    image, label = np.full([9, 28, 28], 7, np.uint8), np.arange(9, dtype=np.uint8)
    np.savez(path, x_train=image, y_train=label, x_test=image, y_test=label)


def _prepare_mnist(path):
    out = path.parent / "out" / "mnist.h5"
    _command("mnist", "--source", path, "--valid", "2", "--out", out)
    return _read_prepared(out)[1]


def _read_puzzles(path):
    puzzles, solutions, _ = lists.read([path])
    return [puzzles.digits.tolist(), solutions.tolist()]


def _write_weights(path):
    arrays = {"f/w": np.linspace(0, 1, 600, dtype=np.float32).reshape(20, 30)}
    constants = {"vocabulary": np.array(["<unk>", "a"], object), "distance": np.arange(8)}
    attributes = {"task": "babi", "model": {"hidden_size": 30}, "update": 7}
    write_weights(Weights(str(path), arrays, constants, attributes))


def _read_weights(path):
    weights = read_weights(path)
    contents = {**weights.arrays, **weights.constants}
    return weights.attributes, {name: array.tolist() for name, array in contents.items()}


class _State(tf.Module):
    """What stands for a trainer: its update, and a variable that is a function of it."""

    def __init__(self, update=0):
        super().__init__()
        self.update = tf.Variable(update)
        self.values = tf.Variable(tf.range(50) * update)


def _write_checkpoints(path, updates=(2, 4)):
    for update in updates:
        checkpoints = Checkpoints(path, 1, 1)
        checkpoints.latest = None  # each is a state of its own
        checkpoints.track(_State(update))
        checkpoints.save()


def _read_checkpoints(path):
    """The values of the last state. An older one is an error here if nothing is said of it."""
    state, said = _State(), io.StringIO()
    with contextlib.redirect_stdout(said):
        Checkpoints(path, 1, 1).track(state)
    if state.update == 2 and state.values.numpy().tolist() == list(range(0, 100, 2)):
        raise DataError(said.getvalue().rstrip("\n"))
    return state.values.numpy().tolist()


CONFIG = {"train": {"batch_size": 8, "learning_rate": 1e-3}}


def _write_run(path):
    workdir = Workdir(path)
    workdir.create(CONFIG)
    _write_checkpoints(path / "checkpoints", (10, 19))
    (path / "weights.h5").touch()
    for update in range(1, 20):
        workdir.append("metrics.jsonl", {"update": update, "loss": 1 / update})


def _read_run(path):
    """What a run goes on with: its last state and its metrics. What is said is an error here."""
    workdir, state, said = Workdir(path), _State(), io.StringIO()
    workdir.check_can_go_on()
    workdir.check(CONFIG)
    with contextlib.redirect_stdout(said):
        checkpoints = Checkpoints(path / "checkpoints", 1, 1)
        checkpoints.track(state)
        workdir.keep_metrics_until(checkpoints.latest_update())
        lines = workdir.metrics()
    with contextlib.redirect_stdout(io.StringIO()) as again:
        workdir.metrics()
    assert not again.getvalue()  # it is repaired
    if said.getvalue():
        raise DataError(said.getvalue().splitlines()[0])
    return lines, state.values.numpy().tolist()


PARTS = ["config.json", "metrics.jsonl", "checkpoints", "checkpoints/last"]
PARTS += [f"checkpoints/last/{name}" for name in ("checkpoint", "ckpt-10.index", "ckpt-19.index")]
PARTS += [f"checkpoints/last/ckpt-{update}.data-00000-of-00001" for update in (10, 19)]


def _lost(parts):
    """Some files or folders of a run's folder are gone."""

    def apply(path):
        for part in map(path.joinpath, parts):
            if part.is_dir():
                shutil.rmtree(part)
            part.unlink(missing_ok=True)

    return Change(apply, words=f"lost {', '.join(parts)}")


LOST = st.lists(st.sampled_from(PARTS), min_size=1, max_size=4, unique=True).map(_lost)


KINDS = {
    "prepared file": Kind("prepared.h5", _write_prepared, _read_prepared, damages()),
    "bAbI archive": Kind("babi.tar.gz", _write_archive, _prepare_babi, damages()),
    "bAbI text": Kind(
        "en-valid-10k",
        _write_babi_texts,
        _prepare_babi,
        damages("qa1_*.txt", wrong=False).map(
            lambda change: Change(change.apply, ("qa1_",), False, change.words)
        ),
    ),
    "MNIST archive": Kind("mnist.npz", _write_npz, _prepare_mnist, damages()),
    "Sudoku list": Kind(
        "puzzles.txt", lambda p: p.write_text(PUZZLES), _read_puzzles, damages(wrong=False)
    ),
    "weights": Kind("weights.h5", _write_weights, _read_weights, damages()),
    "checkpoints": Kind("checkpoints", _write_checkpoints, _read_checkpoints, damages("last/*")),
    "run's folder": Kind(
        "run",
        _write_run,
        _read_run,
        st.one_of(damages("*.json*", wrong=False), damages("checkpoints/last/*"), LOST),
    ),
}
