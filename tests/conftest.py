"""Fixtures that several packages' tests share."""

import collections
import ctypes
import fcntl
import gc
import os
import sys
from pathlib import Path

import pytest

# Tests have many shapes, each a few times: oneDNN's code for them is not worth the memory.
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
# TensorFlow's allocator for oneDNN never gives back what its largest tensors took.
os.environ.setdefault("TF_ONEDNN_USE_SYSTEM_ALLOCATOR", "1")
# What XLA compiles runs a few times: fast machine code is not worth LLVM's time.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
ROOT = Path(__file__).resolve().parents[1]


def pytest_configure(config):
    """Files begin in the order of `pytest_collection_modifyitems`, not by numbers of tests."""
    config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Files that take long come first: no worker waits in the end for one that has such a file."""
    seconds = collections.Counter()
    for item in items:
        limit = item.get_closest_marker("timeout")
        # Roughly: what may take long has a long limit.
        slow = (limit.args[0] if limit else 300) / 20
        seconds[item.path] += slow if "slow" in item.keywords else 0.3
    items.sort(key=lambda item: -seconds[item.path])


def pytest_collection_finish():
    """Spares the garbage collector what is loaded: it is much, and tracing calls it often."""
    gc.freeze()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item, nextitem):
    """Frees graphs after a module's last test and slow ones, so that a worker stays small."""
    if nextitem is None or item.module is not nextitem.module or "slow" in item.keywords:
        tf = sys.modules.get("tensorflow")
        if tf is not None:
            tf.keras.backend.clear_session()
            # TensorFlow keeps each graph in which tf.custom_gradient was traced, with its arrays.
            gradients = sys.modules["tensorflow.python.framework.ops"].gradient_registry._registry
            for name in [name for name in gradients if name.startswith("CustomGradient-")]:
                del gradients[name]
        gc.collect()
        ctypes.CDLL(None).malloc_trim(0)


def real_data(name: str) -> Path:
    """The file in this checkout's data/ or in the folder that RRN_ARCHIVES names, at any depth."""
    paths = [ROOT / "data" / name]
    if archives := os.environ.get("RRN_ARCHIVES"):
        paths += Path(archives).rglob(name)
    found = next((path for path in paths if path.exists()), None)
    return found or pytest.skip(f"{name} is in neither data/ nor the folder RRN_ARCHIVES")


@pytest.fixture(scope="session")
def babi_archive() -> Path:
    """The real bAbI archive; tests that need it are skipped where it is not."""
    return real_data("tasks_1-20_v1-2.tar.gz")


@pytest.fixture(scope="session")
def make_once(tmp_path_factory: pytest.TempPathFactory, worker_id):
    """A function: name, what writes it to a path -> the path, which the first worker writes."""
    folder = tmp_path_factory.getbasetemp()
    folder = folder if worker_id == "master" else folder.parent

    def make(name: str, write) -> Path:
        path = folder / name
        with (folder / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not path.exists():
                write(path)
        return path

    return make


@pytest.fixture(scope="session")
def prepare_once(make_once):
    """A function: name, words of a command of data_prep -> the prepared file."""
    from rrn.data_prep.__main__ import main

    def prepare(name: str, *arguments: str | Path) -> Path:
        def write(path):
            assert main([*map(str, arguments), "--out", str(path)]) == 0

        return make_once(f"{name}.h5", write)

    return prepare


@pytest.fixture(scope="session")
def exported_babi(make_once, four_logical_cpus) -> Path:
    """The folder of the published bAbI model as a SavedModel."""
    import tensorflow as tf

    from rrn.models.export import export

    tf.random.set_seed(0)  # before the fixture of each test does
    return make_once("babi_saved", lambda path: export(ROOT / "pretrained/babi.h5", path))


@pytest.fixture(scope="session")
def babi_h5(babi_archive: Path, prepare_once) -> Path:
    """The real archive, prepared; the missing training file of task 3 is filled from `en`."""
    return prepare_once("babi", "babi", "--source", babi_archive, "--supplement", "en")


@pytest.fixture(scope="session")
def simulated_babi_h5(prepare_once) -> Path:
    """Simulated stories of all tasks, prepared: enough for every answer to occur."""
    return prepare_once("babi_simulated", "babi", "--source", "simulated", "--stories", "2000")


@pytest.fixture(scope="session")
def sudoku_clues() -> Path:
    """The real list of 17-clue puzzles; tests that need it are skipped where it is not."""
    return real_data("sudoku17.txt.gz")


@pytest.fixture(scope="session")
def sudoku_h5(sudoku_clues: Path, prepare_once) -> Path:
    """The real list, prepared."""
    return prepare_once("sudoku", "sudoku", "--clues", sudoku_clues)


@pytest.fixture(scope="session", autouse=True)
def four_logical_cpus():
    """Four logical CPU devices for every test; must come before TensorFlow's first operation."""
    import tensorflow as tf
    from tensorflow.python.util import tf_stack

    from rrn.variables.order import keep_order

    # An operation keeps the calls that made it, and XLA a copy: 300 MiB for one file of tests.
    trace = tf_stack.extract_stack()
    tf_stack.extract_stack = lambda **_: trace
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 4)
    keep_order()
    tf.random.set_seed(0)  # fixtures of modules come before `seed`
    tf.config.list_logical_devices()  # from now on a run with --devices=cpu leaves them four


@pytest.fixture(autouse=True)
def seed(four_logical_cpus):
    """Initial values do not depend on the tests before; deterministic operations need a seed."""
    import tensorflow as tf

    tf.random.set_seed(0)


@pytest.fixture(scope="session")
def small_babi_h5(tmp_path_factory: pytest.TempPathFactory, four_logical_cpus) -> Path:
    """A small prepared bAbI file of three tasks with made-up stories of up to nine facts."""
    from rrn.data_prep.__main__ import main
    from tests.helpers import write_babi_texts

    folder = tmp_path_factory.mktemp("small_babi")
    write_babi_texts(folder)
    path = folder / "babi.h5"
    assert main(["babi", "--source", str(folder), "--tasks", "1,2,3", "--out", str(path)]) == 0
    return path


@pytest.fixture(scope="session")
def small_scenes_h5(prepare_once) -> Path:
    """A small prepared Pretty-CLEVR file with images of 64 x 64."""
    return prepare_once("scenes", "pretty_clevr", "--scenes", "16,4,4", "--images", "64")


@pytest.fixture
def start_program():
    """Starts a `tests.program.Run`; after the test none of its processes is left."""
    from tests.program import Run

    runs = []

    def start(words, **environment):
        runs.append(Run(words, **environment))
        return runs[-1]

    yield start
    for run in runs:
        run.kill()


@pytest.fixture(scope="session")
def ages_h5(prepare_once) -> Path:
    """The prepared file of all trees."""
    return prepare_once("ages", "ages")


@pytest.fixture(scope="session")
def small_digits_h5(prepare_once) -> Path:
    """A small prepared file of rendered digits."""
    return prepare_once("digits", "mnist", "--rendered", "--counts", "20,4", "--valid", "4")


@pytest.fixture(scope="session")
def small_sudoku_h5(prepare_once) -> Path:
    """A small prepared Sudoku file of made puzzles."""
    sizes = "--train_per_level=4", "--valid_per_level=2", "--test_per_level=2"
    return prepare_once("small_sudoku", "sudoku", "--generate", "40", *sizes)


SMALL_DATA = {  # task -> the fixture with a small file of its data
    "ages": "ages_h5",
    "babi": "small_babi_h5",
    "classification": "small_digits_h5",
    "completion": "small_scenes_h5",
    "pretty_clevr": "small_scenes_h5",
    "sudoku": "small_sudoku_h5",
    "triplet": "small_digits_h5",
}


@pytest.fixture(scope="session")
def small_data(request):
    """A function: an experiment -> the path of a small prepared file of its task."""

    def find(config) -> Path:
        name = SMALL_DATA[config.task]
        if config.task == "babi" and config.model.augment:  # needs every name in some story
            name = "simulated_babi_h5"
        elif Path(config.data.path).stem == "mnist":
            name = "small_digits_h5"
        return request.getfixturevalue(name)

    return find
