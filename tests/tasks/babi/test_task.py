"""bAbI: the network's size, its logits and its loss."""

import numpy as np
import pytest

from configs.babi import get_config
from rrn.tasks import create_task
from rrn.variables.random import ExampleRandom
from tests.compare import assert_close, mlp_shapes, names_and_shapes, randomize
from tests.tasks.babi.questions import make_batch, make_config, make_task, tiny_data

NETWORK = {
    **mlp_shapes("input_fn", 104, 128, 128, 128, 128),
    **mlp_shapes("message_fn", 288, 128, 128, 128, 128),
    **mlp_shapes("node_fn", 256, 128, 128, 128, 128),
    "lstm/linear/w": (256, 512),
    "lstm/linear/b": (512,),
    **mlp_shapes("readout", 128, 128, 128, 177),
}
ENCODER = {
    "embedding/table": (177, 32),
    "fact_encoder/lstm/linear/w": (64, 128),
    "fact_encoder/lstm/linear/b": (128,),
    "question_encoder/lstm/linear/w": (64, 128),
    "question_encoder/lstm/linear/b": (128,),
}


def count_parameters(task):
    modules = task.encoder, task.network
    return sum(v.shape.num_elements() for module in modules for v in module.variables)


# Parameters


def test_the_paper_model_has_exactly_441681_parameters(data):
    task = create_task(get_config().model, data)
    assert task.vocabulary_size == 177
    assert names_and_shapes(task.network) == NETWORK
    assert names_and_shapes(task.encoder) == ENCODER
    assert count_parameters(task) == 441_681


def test_regularized_are_the_kernels_of_the_dense_layers():
    task = make_task(tiny_data())
    names = {v.name.removesuffix(":0") for v in task.regularized()}
    kernels = {name for name in NETWORK if name.endswith("/w")}
    assert names == kernels - {"lstm/linear/w"}


def test_data_of_another_schema_is_refused():
    for schema in (("sudoku", 1), ("babi", 2)):
        with pytest.raises(ValueError, match=r"tiny\.h5: schema and version are .*needs"):
            create_task(make_config().model, tiny_data(schema=schema))


# Model


def logits_by_example(task, arrays, examples):
    batch, examples = make_batch(task, arrays, examples)
    logits = task.logits(*task.run(task.encode(batch), batch)).numpy()
    return dict(zip(examples.tolist(), logits, strict=True))


def varied_examples(data):
    """Questions of the test split of many numbers of facts, without repetition."""
    random = np.random.default_rng(1)
    return random.choice(len(data.splits["test"]["task"]), 40, replace=False)


@pytest.fixture(scope="module")
def some_logits(data, arrays):
    task, examples = make_task(data), varied_examples(data)
    randomize_all(task)
    return task, examples, logits_by_example(task, arrays, examples)


def randomize_all(task):
    for seed, module in enumerate((task.encoder, task.network)):
        randomize(module, seed)


@pytest.mark.parametrize("size", [1, 2, 17])
def test_logits_do_not_depend_on_the_other_questions_of_the_batch(some_logits, arrays, size):
    task, examples, expected = some_logits
    for example, row in logits_by_example(task, arrays, examples[:size]).items():
        assert_close(row, expected[example])


@pytest.mark.parametrize("num_parts", [1, 8])
def test_logits_do_not_depend_on_the_number_of_parts(some_logits, data, arrays, num_parts):
    task, examples, expected = some_logits
    other = make_task(data, num_parts=num_parts)
    randomize_all(other)
    assert len(other.batches.boundaries(20)) == num_parts != len(task.batches.boundaries(20))
    for example, row in logits_by_example(other, arrays, examples).items():
        assert_close(row, expected[example])


def test_loss_is_the_mean_cross_entropy_over_steps(some_logits, arrays):
    task, examples, logits = some_logits
    batch, examples = make_batch(task, arrays, examples)
    losses_by_name, outputs = task.loss(task.encode(batch), batch, None, False)
    rows = np.stack([logits[example] for example in examples]).astype(np.float64)
    probabilities = np.exp(rows - rows.max(-1, keepdims=True))
    probabilities /= probabilities.sum(-1, keepdims=True)
    answers = batch["answer"].numpy()
    losses = -np.log(probabilities[np.arange(len(examples)), :, answers])
    assert_close(outputs["probabilities"], probabilities, 1e-4)
    assert_close(outputs["loss"], losses, 1e-4)
    assert_close(losses_by_name["loss"], losses.mean(axis=1), 1e-4)


def test_readout_dropout_needs_the_examples_random_alone(some_logits, arrays):
    """In training too, an example's logits do not depend on the other questions."""
    task, examples, without = some_logits

    def dropped(examples):
        batch, examples = make_batch(task, arrays, examples)
        random = ExampleRandom([7, 8], examples, task.num_examples(arrays))
        logits = task.logits(*task.run(task.encode(batch), batch), random)
        return dict(zip(examples.tolist(), logits, strict=True))

    many, few = dropped(examples), dropped(examples[:5])
    for example, row in few.items():
        assert_close(row, many[example])
        assert np.abs(row.numpy() - without[example]).max() > 1e-3
