"""Files that are whole, and whose contents are wrong: prepared files and weights.

Their digests are right, as if the program itself had written them.
"""

import contextlib
import dataclasses
import io
import json
from unittest import mock

import h5py
import numpy as np
from hypothesis import strategies as st

import rrn
from rrn.data_prep import hdf5
from rrn.data_prep.__main__ import main as data_prep
from rrn.data_prep.check import verify_contents
from rrn.files.weights import save_weights
from rrn.files.weights_file import _sha256_of_all, read_weights, write_weights
from rrn.models import describe
from tests.data_prep.helpers import seal
from tests.fuzz.attempts import Change, Kind
from tests.fuzz.damage import STORY
from tests.helpers import small_babi

# Of an attribute or of a field of the model, where none of them is right
ODD = st.sampled_from([-1, 10**12, 2.5, float("nan"), "", "nothing", True])


def _prepare(*arguments):
    def write(path):
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            assert data_prep([*arguments, "--out", str(path)]) == 0

    return write


def write_babi(path):
    """From text files that are then removed."""
    texts = path.parent / "out" / "en-valid-10k"
    texts.mkdir(parents=True)
    for split in ("train", "valid", "test"):
        (texts / f"qa1_{split}.txt").write_text(STORY * 3)
    _prepare("babi", "--source", str(texts), "--tasks", "1")(path)


def changed_array(array, kind, place):
    """The array with one thing wrong, whatever it stands for."""
    if kind == "flat":
        return array.ravel() if array.ndim > 1 else array[:, None]
    if kind == "cut":
        return array[..., :-1] if array.ndim > 1 else array[:-1]
    if kind == "dtype":
        return np.zeros(array.shape, np.int16)
    if kind == "empty":
        return np.zeros([0, *array.shape[1:]], np.uint8 if array.dtype == object else array.dtype)
    changed = array.copy()
    if kind == "word":  # of numbers the largest there are
        kinds = {"O": "\ufffd nothing", "f": np.nan}
        largest = None if array.dtype.kind in "Of" else np.iinfo(array.dtype).max
        changed.flat[place % array.size] = kinds.get(array.dtype.kind, largest)
    return changed


def _verify(path):
    return verify_contents(hdf5.read(path))


def _prepared_changes(arrays, free=()):
    """Changes of a prepared file with these arrays.

    free: arrays whose entries may be any number.
    """

    def of_array(name, kind, place):
        def apply(path):
            contents = hdf5.read(path)
            datasets = contents.datasets
            if kind == "lost":
                del datasets[name]
            elif kind == "twice":
                datasets[f"{name}s"] = datasets[name]
            else:
                datasets[name] = changed_array(datasets[name], kind, place)
            hdf5.write(path, datasets, contents.attributes)

        return Change(apply, words=f"{name}: {kind} {place}")

    def of_attribute(name, value):
        def apply(path):
            contents = hdf5.read(path)
            hdf5.write(path, contents.datasets, {**contents.attributes, name: value})

        return Change(apply, words=f"attribute {name}={value!r}")

    kinds = ["lost", "twice", "flat", "cut", "dtype", "empty"]
    structure = st.builds(of_array, st.sampled_from(arrays), st.sampled_from(kinds), st.just(0))
    words = [name for name in arrays if name not in free]
    entries = st.builds(of_array, st.sampled_from(words), st.just("word"), st.integers(0, 10**6))
    odd = ODD | st.sampled_from([np.arange(3), h5py.Empty("f"), np.zeros(2, "i4,f4"), b"\xff"])
    attributes = st.builds(of_attribute, st.sampled_from(["schema", "version"]), odd)
    return st.one_of(structure, entries, entries, attributes)


def _splits(*names):
    return [f"{split}/{name}" for split in ("train", "valid", "test") for name in names]


BABI = [
    *("vocabulary", "sentences/tokens", "sentences/length"),
    *_splits("task", "story", "question", "answer", "num_facts", "facts", "story_start"),
    *_splits("supporting", "supporting_start"),
]
NAMES = ["colour_names", "marker_names"]
SCENES = _splits("positions", "colours", "markers", "order")


# Weights


def _write_weights(path):
    data = path.parent / "out" / "babi.h5"
    data.parent.mkdir()
    write_babi(data)
    config, prepared, task = small_babi(data)
    variables = [*task.encoder.trainable_variables, *task.network.trainable_variables]
    save_weights(
        path, variables, {"config": "test", **describe(config.model, prepared)}, task.constants
    )


def _load(path):
    task = rrn.load(path)
    values = [*task.encoder.trainable_variables, *task.network.trainable_variables]
    return {variable.name: variable.numpy().tolist() for variable in values}


def _rewrite(path, change):
    """Writes what `change` makes of a weights file, without the writer's own checks."""
    weights = read_weights(path)
    with mock.patch("rrn.files.weights_file._check"):
        write_weights(change(weights))


def _of_attribute(name, value):
    def change(weights):
        attributes = {**weights.attributes, name: value}
        attributes = {n: v for n, v in attributes.items() if v is not None}
        return dataclasses.replace(weights, attributes=attributes)

    return Change(lambda path: _rewrite(path, change), words=f"attribute {name}={value!r}")


def _of_field(group, name, value):
    """`name` of the attribute `group`; None takes it away."""

    def change(weights):
        fields = {**weights.attributes[group], name: value}
        fields = {n: v for n, v in fields.items() if v is not None}
        attributes = {**weights.attributes, group: fields}
        return dataclasses.replace(weights, attributes=attributes)

    words = f"{group}.{name}={value!r}"
    return Change(lambda path: _rewrite(path, change), words=words)


def _of_array(group, which, kind, place):
    def change(weights):
        arrays = dict(getattr(weights, group))
        name = sorted(arrays)[which % len(arrays)]
        if kind == "lost":
            del arrays[name]
        elif kind == "twice":
            arrays[f"{name}s"] = arrays[name]
        elif kind == "words":
            arrays[name] = np.full(arrays[name].shape, "nothing", object)
        else:
            arrays[name] = changed_array(arrays[name], kind, place)
        return dataclasses.replace(weights, **{group: arrays})

    return Change(lambda path: _rewrite(path, change), words=f"{group} {which}: {kind} {place}")


# What is replaced in a weights file by an object of another kind
PARTS = ["embedding/table", "constants/vocabulary", "constants"]


def _seal_weights(path):
    content = path.read_bytes()
    size = json.loads(content.partition(b"\n")[0])["bytes"]
    digest = _sha256_of_all({}, content[size:])
    header = json.dumps({"bytes": size, "sha256": digest, "arrays": {}}).encode() + b"\n"
    path.write_bytes(header.ljust(size, b"\0") + content[size:])


FIELDS = ["embedding_size", "encoding_size", "hidden_size", "max_facts", "num_parts", "nothing"]
WEIGHTS = st.one_of(
    st.builds(_of_attribute, st.sampled_from(["task", "model", "data"]), ODD | st.none()),
    st.builds(_of_field, st.just("model"), st.sampled_from(FIELDS), ODD | st.just(7)),
    st.builds(_of_field, st.just("model"), st.sampled_from(FIELDS[:-1]), st.none()),
    st.builds(
        _of_field,
        st.just("data"),
        st.sampled_from(["schema", "version", "notes"]),
        st.sampled_from([-1, True, None]),
    ),
    st.builds(
        _of_array,
        st.just("arrays"),
        st.integers(0, 100),
        st.sampled_from(["lost", "twice", "flat", "cut", "dtype", "empty", "word", "words"]),
        st.integers(0, 10**6),
    ),
    st.builds(
        _of_array,
        st.just("constants"),
        st.integers(0, 100),
        st.sampled_from(["lost", "flat", "empty"]),
        st.integers(0, 10**6),
    ),
)

# HDF5 objects of the wrong kind in a prepared file


OBJECTS = {
    "group": lambda file, name: file.create_group(name),
    "scalar": lambda file, name: file.create_dataset(name, data=3),
    "no space": lambda file, name: file.create_dataset(name, data=h5py.Empty("f")),
    "compound": lambda file, name: file.create_dataset(name, data=np.zeros(3, "i4,f4")),
    "complex": lambda file, name: file.create_dataset(name, data=np.zeros(3, complex)),
    "bytes": lambda file, name: file.create_dataset(name, data=np.array([b"\xff"], "S1")),
    "words": lambda file, name: file.create_dataset(
        name, data=[b"\xff"], dtype=h5py.string_dtype()
    ),
    "huge": lambda file, name: file.create_dataset(name, (10**14,), "u1", chunks=(1000,)),
    "lost link": lambda file, name: file.__setitem__(name, h5py.SoftLink("/nothing")),
    "circle": lambda file, name: file.__setitem__(name, h5py.SoftLink("/" + name)),
    "elsewhere": lambda file, name: file.__setitem__(name, h5py.ExternalLink("/dev/null", "x")),
    "reference": lambda file, name: file.create_dataset(name, data=file.ref, dtype=h5py.ref_dtype),
    "type": lambda file, name: file.__setitem__(name, np.dtype("f8")),
    "another's": lambda file, name: file.__setitem__(name, file[sorted(file)[0]]),
    "itself": lambda file, name: file.__setitem__(name, file["/"]),
    "deep": lambda file, name: file.create_dataset(f"{name}/{'x/' * 3000}x", data=3),
    "many": lambda file, name: [file.create_dataset(f"{name}/{i}", data=i) for i in range(300)],
    "line in a name": lambda file, name: file.create_dataset(f"{name}\n\x1b[31m", data=[3]),
    "bytes in a name": lambda file, name: file.create_dataset(name.encode() + b"\xff", data=[3]),
    "virtual": lambda file, name: file.create_virtual_dataset(name, _virtual()),
    "external": lambda file, name: file.create_dataset(
        name, (9,), "u1", external=[("/dev/zero", 0, h5py.h5f.UNLIMITED)]
    ),
    "pipe": lambda file, name: file.create_dataset(
        name, (9,), "u1", external=[("/dev/stdin", 0, h5py.h5f.UNLIMITED)]
    ),
    "lists": lambda file, name: file.create_dataset(name, (3,), h5py.vlen_dtype("i4")),
    "lists of words": lambda file, name: file.create_dataset(
        name, (3,), h5py.vlen_dtype(h5py.string_dtype())
    ),
    "arrays": lambda file, name: file.create_dataset(name, data=np.zeros(3, "(2,)i4")),
    "opaque": lambda file, name: file.create_dataset(name, data=np.zeros(3, "V5")),
    "enum": lambda file, name: file.create_dataset(name, (3,), h5py.enum_dtype({"a": 1}, "i4")),
    "half": lambda file, name: file.create_dataset(name, data=np.full(3, np.nan, "f2")),
    "other end": lambda file, name: file.create_dataset(name, data=np.full(3, -1, ">i8")),
    "long": lambda file, name: file.create_dataset(name, data=np.zeros(3, np.longdouble)),
    "axes": lambda file, name: file.create_dataset(name, data=np.zeros([1] * 32, "u1")),
    "unwritten": lambda file, name: file.create_dataset(name, (30,), "i4", fillvalue=7),
    "another filter": lambda file, name: file.create_dataset(name, data=[1, 2], scaleoffset=1),
    "checksum": lambda file, name: file.create_dataset(name, (9,), "i4", fletcher32=True),
    "attributes": lambda file, name: file.create_dataset(name, data=3).attrs.update(
        {"x" * i: np.zeros(i) for i in range(1, 300)}
    ),
}


def _virtual():
    layout = h5py.VirtualLayout((3,), "i4")
    layout[:] = h5py.VirtualSource("/dev/null", "x", (3,))
    return layout


def _objects(names, seal):
    """Changes of a file with these arrays; `seal` then makes its digests right."""

    def of(name, kind):
        def apply(path):
            with h5py.File(path, "r+") as file:
                del file[name]
                OBJECTS[kind](file, name)
            seal(path)

        return Change(apply, words=f"{name}: {kind}")

    return st.builds(of, st.sampled_from(names), st.sampled_from(sorted(OBJECTS)))


write_sudoku = _prepare(
    *("sudoku", "--generate", "6", "--train_per_level", "2", "--valid_per_level", "1"),
    *("--test_per_level", "1"),
)
KINDS = {
    "HDF5 objects": Kind("babi.h5", write_babi, _verify, _objects(BABI, seal), 0.5),
    "HDF5 objects of weights": Kind(
        "model.h5", _write_weights, _load, _objects(PARTS, _seal_weights), share=0.3
    ),
    "bAbI contents": Kind("babi.h5", write_babi, _verify, _prepared_changes(BABI)),
    "Sudoku contents": Kind(
        "sudoku.h5",
        write_sudoku,
        _verify,
        _prepared_changes(_splits("puzzle", "solution", "givens", "pool_puzzle", "pool")),
    ),
    "Pretty-CLEVR contents": Kind(
        "scenes.h5",
        _prepare("pretty_clevr", "--scenes", "4,2,2"),
        _verify,
        _prepared_changes(
            [*SCENES, "colour_names", "marker_names"], ["colour_names", "marker_names"]
        ),
    ),
    "digits' contents": Kind(
        "digits.h5",
        _prepare("mnist", "--rendered", "--counts", "6,3", "--valid", "2"),
        _verify,
        _prepared_changes(_splits("image", "label"), _splits("image")),
    ),
    "weights' contents": Kind("model.h5", _write_weights, _load, WEIGHTS, share=0.5),
}
