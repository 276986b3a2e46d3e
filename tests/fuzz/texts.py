"""Texts from outside: the value of TF_CONFIG, and puzzles."""

import json

from hypothesis import strategies as st

from rrn.data_prep.sudoku.reading import read_files
from rrn.distribute.cluster import parse_tf_config
from tests.fuzz.attempts import Change, Kind
from tests.fuzz.damage import PUZZLE, damages

CLUSTER = {
    "cluster": {"chief": ["a:1"], "ps": ["b:2", "c:3"], "worker": ["127.0.0.1:4", "e:5"]},
    "task": {"type": "worker", "index": 1},
}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=5,
)
PLACES = [
    *(("cluster",), ("task",), ("cluster", "chief"), ("cluster", "worker"), ("cluster", "ps")),
    *(("task", "type"), ("cluster", "worker", 0)),
]
ADDRESSES = [
    "",
    "a",
    "a:",
    ":1",
    "a:0",
    "a:65536",
    "a:-1",
    "a:1",
    "localhost:4",
    "a b:1",
    "::1",
    "a:1:1",
]


def _put(place, value):
    """Puts a value at a place of TF_CONFIG's JSON."""

    def apply(path):
        config = json.loads(path.read_text())
        inner = config
        for key in place[:-1]:
            inner = inner[key]
        inner[place[-1]] = value
        path.write_text(json.dumps(config))

    return Change(apply, ("TF_CONFIG",), words=f"{place}: {value!r}")


def _write_all(value):
    return Change(lambda path: path.write_text(value), ("TF_CONFIG",), words=repr(value))


TF_CONFIG = st.one_of(
    st.builds(_put, st.sampled_from(PLACES), JSON.filter(lambda value: value != [])),
    st.builds(
        _put, st.just(("task", "index")), JSON.filter(lambda v: type(v) is not int) | st.integers(2)
    ),
    st.builds(_put, st.just(("cluster", "worker", 1)), st.sampled_from(ADDRESSES)),
    st.builds(_put, st.just(("cluster", "chief")), st.sampled_from([[], ["a:1", "f:6"], ["b:2"]])),
    JSON.map(json.dumps).map(_write_all),
    st.text().map(_write_all),
)


def _write_cluster(path):
    path.write_text(json.dumps(CLUSTER))


def _read_tf_config(path):
    # As Python decodes the environment
    cluster = parse_tf_config(path.read_text(errors="surrogateescape"))
    return cluster.addresses, cluster.role, cluster.index


def _puzzle(path):
    return read_files([path]).digits.tolist()


KINDS = {
    "TF_CONFIG": Kind("TF_CONFIG", _write_cluster, _read_tf_config, TF_CONFIG),
    "TF_CONFIG's text": Kind("TF_CONFIG", _write_cluster, _read_tf_config, damages(wrong=False)),
    "puzzles": Kind(
        "puzzle.txt", lambda path: path.write_text(PUZZLE), _puzzle, damages(wrong=False)
    ),
}
