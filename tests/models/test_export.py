"""SavedModels: the same answers as the models', also where rrn is not installed."""

import json
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf

from rrn.config import replace
from rrn.data_prep.babi.stories import words
from rrn.files.data import read_prepared
from rrn.files.weights import model_variables, save_weights
from rrn.models import describe, load
from rrn.models.export import export
from rrn.tasks import create_task
from rrn.tasks.babi.text import token_ids
from tests.compare import assert_close, randomize
from tests.helpers import ROOT, load_config, make_small
from tests.nn.graphs.test_values import Saved

# (the config's file, fields of small models, the fixture of the data)
TASKS = {
    "babi": ("babi.py", {}, "small_babi_h5"),
    "sudoku": ("sudoku.py", {"hidden_size": 8, "evaluation_steps": 4}, "small_sudoku_h5"),
    "ages": ("ages.py", {"hidden_size": 8, "num_steps": 2}, "ages_h5"),
    "pretty_clevr": ("pretty_clevr.py", {"hidden_size": 8, "num_steps": 2}, "small_scenes_h5"),
    "classification": ("mnist_cnn.py", {"width": 2}, "small_digits_h5"),
    "triplet": ("triplet.py", {"width": 2}, "small_digits_h5"),
    "completion": ("completion.py", {"width": 4, "patch_size": 32}, "small_scenes_h5"),
}


class NoDraws:
    """Examples' draws that are all 0."""

    def __init__(self, examples):
        self.examples = examples

    def uniform(self, shape, stream=0):
        return tf.zeros([self.examples, *shape])


def small_model(name, request):
    """(data, task with random weights)."""
    file, fields, fixture = TASKS[name]
    path = request.getfixturevalue(fixture)
    config = load_config(file, "test")
    config = replace(config, data={"path": str(path)})
    if name == "babi":
        config = make_small(config, path)
    config = replace(config, model={**{**fields, "compute_dtype": "float32"}})
    data = read_prepared(path)
    task = create_task(config.model, data)
    for module in (task.encoder, task.network):
        randomize(module)
    return config, data, task


def some_examples(name, data, task):
    """(inputs of `predict`, the batch of the same examples, sorted by size)."""
    arrays = data.arrays("test")
    ids = np.arange(3, dtype=np.int32)
    ids = ids[np.argsort(task.sizes(arrays, ids), kind="stable")]
    batch = task.make_batch(arrays, tf.constant(ids), NoDraws(3), training=False)
    if name == "babi":
        stories, questions = zip(*map(texts_of(data), ids), strict=True)
        return {"story": tf.constant(stories), "question": tf.constant(questions)}, batch
    if name in ("classification", "triplet"):
        return {"image": tf.gather(arrays["image"], ids)}, batch
    if name == "pretty_clevr":
        scene = ids // 128
        objects = {n: tf.gather(arrays[n], scene) for n in ("positions", "colours", "markers")}
        return {**objects, "anchor": batch["anchor"], "jumps": batch["jumps"]}, batch
    if name == "ages":
        asked = tf.gather(batch["people"], batch["asked"], batch_dims=1)
        return {**{n: batch[n] for n in ("who", "whom", "kind", "years")}, "asked": asked}, batch
    return {n: batch[n] for n in task.inputs()}, batch


def texts_of(data):
    """A function: question's number -> (its story so far, the question)."""
    split, words = data.splits["test"], data.shared["vocabulary"]

    def sentence(number):
        length = data.shared["sentences/length"][number]
        return " ".join(words[data.shared["sentences/tokens"][number, :length]])

    def texts(number):
        start = split["story_start"][split["story"][number]]
        facts = split["facts"][start : start + split["num_facts"][number]]
        story = "".join(f"{sentence(fact).capitalize()}.\n" for fact in facts)
        return story, f"{sentence(split['question'][number])}?"

    return texts


def evaluated(name, task, batch):
    """(name, value) of one of `predict`'s outputs, by the way of evaluation."""
    if name == "completion":
        return "completed", tf.clip_by_value(task.complete(batch), 0.0, 1.0)
    if name == "sudoku":
        logits, _ = task.logits(task.encode(batch), batch["puzzle"], 4)
        return "confidence", tf.reduce_max(tf.nn.softmax(logits[:, :, -1])[..., 1:], -1)
    _, outputs = task.loss(task.encode(batch), batch, None, training=False)
    if name == "ages":
        return "age", outputs["predicted"][:, -1]
    if name == "pretty_clevr":
        return "answer", tf.gather(task.names, outputs["predicted"][:, -1])
    output = "embedding" if name == "triplet" else "probabilities"
    return output, outputs[output]


@pytest.mark.slow
@pytest.mark.parametrize("name", TASKS)
def test_a_saved_model_answers_as_the_model_does(name, request, tmp_path):
    config, data, task = small_model(name, request)
    inputs, batch = some_examples(name, data, task)
    save_weights(
        tmp_path / "weights.h5", model_variables(task), describe(config.model, data), task.constants
    )
    said = export(tmp_path / "weights.h5", tmp_path / "saved")
    assert all(f"  {n} " in said for n in (*task.inputs(), *task.predict(inputs)))
    expected = load(tmp_path / "weights.h5").predict(inputs)
    saved = tf.saved_model.load(str(tmp_path / "saved"))
    got = [saved.predict(inputs), saved.signatures["serving_default"](**inputs)]
    if name == "sudoku":
        layer = keras.layers.TFSMLayer(str(tmp_path / "saved"), call_endpoint="predict")
        got.append(layer(inputs))
    for outputs in got:
        assert outputs.keys() == expected.keys()
        for output, value in expected.items():
            assert output == "vocabulary" or len(outputs[output]) == 3
            if value.dtype.is_floating:
                np.testing.assert_allclose(outputs[output], value, atol=1e-6)
            else:
                np.testing.assert_array_equal(outputs[output], value)
    # What is wrong is refused by both.
    for changed in wrong_inputs(task, inputs):
        with pytest.raises(ValueError, match=rf"{type(task).__name__}.predict: "):
            task.predict(changed)
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\.predict: .* must be "):
            saved.predict(changed)
    # The way of evaluation gives the same.
    output, reference = evaluated(name, task, batch)
    compare = assert_close if reference.dtype.is_floating else np.testing.assert_array_equal
    compare(expected[output], reference)
    about = json.loads((tmp_path / "saved/assets.extra/model.json").read_text())
    assert about["task"] == name and about["data"]["file"] == data.path.split("/")[-1]


def wrong_inputs(task, inputs):
    """Inputs with one value too large or too small, and inputs of different numbers of examples."""
    for name, (lowest, highest) in task.ranges().items():
        dtype, shape = inputs[name].dtype, inputs[name].shape
        for bound, step in (lowest, -1), (highest, 1):
            outside = np.broadcast_to(bound, shape[1:][-1:]) + step
            first = tf.cast(tf.broadcast_to(outside, [1, *shape[1:]]), dtype)
            yield {**inputs, name: tf.concat([first, inputs[name][1:]], axis=0)}
    for name in list(inputs)[1:]:
        yield {**inputs, name: inputs[name][:1]}


SCRIPT = """
import sys
import tensorflow as tf

model = tf.saved_model.load(sys.argv[1])
story = "John took the milk. John went to the office. John left the milk there."
question = "Where is John?"
answers = model.predict({"story": tf.constant([story]), "question": tf.constant([question])})
assert answers["probabilities"].shape == [1, 1, 177]

states = tf.saved_model.load(sys.argv[2]).signatures["serving_default"]
specs = states.structured_input_signature[1]
graph = [[0, 1], [1, 2], 3, [0, 0, 0], 1]
values = {"features": [[1.0] * 3] * 3, "graph": graph[0]}
values |= {f"graph_{i}": graph[i] for i in range(1, 5)}
hidden = states(**{name: tf.constant(values[name], specs[name].dtype) for name in specs})["hidden"]
assert hidden.shape == [3, 6]
assert not [name for name in sys.modules if name.split(".")[0] == "rrn"]
print(answers["answer"].numpy()[0].decode())
"""


@pytest.mark.slow
def test_saved_models_need_no_rrn(exported_babi, tmp_path):
    """Neither one of texts nor one of graphs."""
    module = Saved({})
    tf.saved_model.save(module, tmp_path / "saved", signatures=module.states)
    environment = {**os.environ, "PYTHONPATH": "", "CUDA_VISIBLE_DEVICES": ""}
    answer = subprocess.check_output(
        [sys.executable, "-c", SCRIPT, exported_babi, tmp_path / "saved"],
        cwd=tmp_path,
        env=environment,
        text=True,
        timeout=120,
    )
    assert answer == "office\n"


# What goes in is checked


@pytest.fixture(scope="module")
def babi():
    tf.random.set_seed(0)  # before the fixture of each test does
    return load(ROOT / "pretrained/babi.h5")


def ask(model, story, question="Where is John?"):
    return model.predict({"story": tf.constant([story]), "question": tf.constant([question])})


FACTS = "John took the milk", "John went to the office", "John left the milk there"
FORMS = [
    "{}. {}. {}.",
    "\n{}\n\n{}\n{}\n",
    "1. {}\n2. {}\n3. {}",
    "1. {}. 2. {}. 3. {}.",
    "1 {}.\n2 {}.\n3 {}.\n",
    "(1) {}! (2) {}! (3) {}!",
    "1) {}; 2) {}; 3) {}",
    "- {}\r\n- {}\r\n- {}",
    "{}。{}。{}。",
    "{}!\u00a0{}!{}!",
]


def test_texts_are_read_as_people_write_them(babi):
    """Whatever ends and numbers sentences, in capitals or not."""
    stories = [form.format(*FACTS) for form in FORMS]
    questions = ["Where is the milk?", *["4. where is the MILK\uff1f"] * (len(FORMS) - 1)]
    answers = babi.predict({"story": tf.constant(stories), "question": tf.constant(questions)})
    assert answers["answer"].numpy().tolist() == [b"office"] * len(FORMS)
    assert set(answers["unknown_words"].numpy()) == {b""}
    rows = answers["probabilities"].numpy()
    np.testing.assert_allclose(rows, np.broadcast_to(rows[:1], rows.shape), atol=1e-6)


def test_words_are_those_of_the_preparation(babi):
    sentences = ["Where is the milk?", "Zoë WENT  there.", "a;b!c", "Mary 3 milk。", "१ mary।"]
    vocabulary = tf.constant(["<unk>", *sorted({w for s in sentences for w in words(s)})])
    ids, lengths, unknown = token_ids(tf.constant(sentences), vocabulary)
    for row, length, sentence in zip(ids.numpy(), lengths.numpy(), sentences, strict=True):
        assert [vocabulary.numpy()[i].decode() for i in row[:length]] == words(sentence)
    assert set(unknown.numpy()) == {b""}


def test_unknown_words_are_named(babi, exported_babi):
    asked = {
        "story": tf.constant(["1. Zed went to the office. Mary took the Milk", FACTS[0]]),
        "question": tf.constant(["Where is Quux?", "Where is John?"]),
    }
    for model in babi, tf.saved_model.load(str(exported_babi)):
        assert model.predict(asked)["unknown_words"].numpy().tolist() == [b"zed quux", b""]
    unknown = [ask(babi, f"{name} went to the office.")["probabilities"] for name in ("Bo", "Ed")]
    np.testing.assert_array_equal(*unknown)


def test_of_a_long_story_the_last_facts_count(babi):
    places = ["garden", "kitchen"] * (babi.config.max_facts // 2)
    ends = " ".join(f"Mary went to the {place}." for place in places)
    (long, short) = (ask(babi, story, "Where is Mary?") for story in ("Mary left. " + ends, ends))
    np.testing.assert_array_equal(long["probabilities"], short["probabilities"])


@pytest.mark.parametrize(
    ("story", "question", "message"),
    [
        (" . \n", "Where is John?", "a story has no fact"),
        ("John went home.", " ?", "a sentence has no word"),
        ("John went home" + 25 * " so", "Where?", "more than 24 words"),
    ],
)
def test_texts_that_cannot_be_read_are_errors(babi, story, question, message):
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        ask(babi, story, question)


def test_what_cannot_be_exported_is_refused(tmp_path):
    (tmp_path / "kept").write_text("mine")
    for weights, folder, compiled, said in (
        ("pretty_clevr_mlp", "", False, "is there and no SavedModel"),
        ("pretty_clevr_mlp", "a[1]", False, r"reads \["),
        ("pretty_clevr_mlp", "new", True, "XLA compiles no strings, as answer; .*--jit"),
        ("babi", "new", True, r"XLA compiles no strings, as story, question, answer, .*--jit"),
    ):
        with pytest.raises(ValueError, match=said):
            export(ROOT / f"pretrained/{weights}.h5", tmp_path / folder, compiled)
    assert os.listdir(tmp_path) == ["kept"]


def test_a_compiled_model_answers_as_the_model_does(tmp_path):
    weights, puzzles = ROOT / "pretrained/sudoku.h5", np.zeros([2, 81], np.int32)
    puzzles[:, :9] = [range(1, 10), range(9, 0, -1)]
    model = load(weights, evaluation_steps=4, compute_dtype="float32")
    export(weights, tmp_path / "saved", True, evaluation_steps=4, compute_dtype="float32")
    saved = tf.saved_model.load(str(tmp_path / "saved"))
    for number in (1, 2):
        expected = model.predict({"puzzle": puzzles[:number]})
        compiled = saved.predict({"puzzle": tf.constant(puzzles[:number])})
        np.testing.assert_array_equal(compiled["solution"], expected["solution"])
        assert_close(compiled["confidence"], expected["confidence"], 1e-5)
