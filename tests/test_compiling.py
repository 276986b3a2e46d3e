"""What XLA compiles: the same results, inputs of known shapes alone, kept for the next process."""

import os

import numpy as np
import pytest
import tensorflow as tf

from rrn import compiling
from rrn.compiling import (
    compile_fast,
    is_compiling,
    keep_compiled,
    refusals,
    run_compiled,
    xla,
)
from rrn.variables.random import ExampleRandom, fold_in, uniform

SEED = 3, 4


def test_a_part_of_a_traced_function_is_compiled_with_what_surrounds_it():
    seen = []

    @tf.function
    def outer(x):
        doubled = 2.0 * x

        def part():
            seen.append(is_compiling())
            with tf.GradientTape() as tape:
                tape.watch(doubled)
                y = tf.reduce_sum(doubled**2)
            return y, None, tape.gradient(y, doubled)

        y, nothing, gradient = run_compiled(part)
        assert nothing is None
        return y, gradient

    y, gradient = outer(tf.constant([1.0, 3.0]))
    assert seen == [True] and not is_compiling()
    np.testing.assert_allclose(y, 40.0)
    np.testing.assert_allclose(gradient, [4.0, 12.0])


def test_a_shape_that_may_differ_is_named():
    @tf.function(input_signature=[tf.TensorSpec([None, 3], name="rows")], autograph=False)
    def outer(x):
        return run_compiled(lambda: tf.reduce_sum(x))

    with pytest.raises(ValueError, match=r"^rows has the shape \(None, 3\).* --jit=off"):
        outer.get_concrete_function()


def test_each_function_may_have_a_few_shapes_without_a_warning(caplog):
    doubled, halved = xla(lambda x: 2.0 * x), xla(lambda x: 0.5 * x)
    for size in 1, 2, 3:
        np.testing.assert_allclose(halved(doubled(tf.ones([size]))), np.ones(size))
    assert "retracing" not in caplog.text


def test_what_xla_cannot_compile_is_said():
    def part():
        return tf.py_function(lambda x: x, [tf.ones([2])], tf.float32)

    with (
        pytest.raises(ValueError, match=r"^stage first: .* --jit=off .*: Detected.* EagerPyFunc"),
        refusals("stage first"),
    ):
        tf.function(lambda: run_compiled(part))()


def test_what_is_not_used_may_have_any_shape():
    @tf.function(input_signature=[tf.TensorSpec([None]), tf.TensorSpec([2])])
    def outer(unused, x):
        del unused
        return run_compiled(lambda: tf.reduce_sum(x))

    assert outer(tf.zeros([7]), tf.ones([2])) == 2.0


def test_an_xla_function_is_a_part_of_what_is_compiled_around_it():
    @xla
    def double(x):
        return {"x": 2 * x, "compiled": is_compiling()}

    assert double(np.float32([1, 2]))["compiled"]
    np.testing.assert_array_equal(double(np.float32([1, 2]))["x"], [2, 4])
    graph = tf.function(lambda: run_compiled(lambda: double(np.float32([1, 2]))["x"]))
    functions = graph.get_concrete_function().graph.as_graph_def().library.function
    assert not [f for f in functions if "by_itself" in f.signature.name]
    np.testing.assert_array_equal(graph(), [2, 4])


@pytest.mark.parametrize("shape", [[1], [3], [7, 5], [16, 3, 129]])
def test_draws_are_the_same_within_xla(shape):
    def draws():
        return uniform(SEED, shape), fold_in(SEED, 5, 6)

    for plain, compiled in zip(draws(), tf.function(draws, jit_compile=True)(), strict=True):
        np.testing.assert_array_equal(plain, compiled)
    philox = tf.random.Algorithm.PHILOX
    np.testing.assert_array_equal(
        uniform(SEED, shape), tf.random.stateless_uniform(shape, SEED, alg=philox)
    )


@pytest.mark.parametrize("batch_size", [None, 8])
def test_examples_draws_are_the_same_within_xla(batch_size):
    random = ExampleRandom(SEED, tf.constant([5, 2, 7]), batch_size)
    compiled = tf.function(lambda: random.uniform([4], 1), jit_compile=True)()
    np.testing.assert_array_equal(random.uniform([4], 1), compiled)


@pytest.fixture
def a_gpu(monkeypatch, tmp_path):
    """A GPU to ask for its name, an empty environment, and a cache."""
    details = {"device_name": "NVIDIA H200"}
    monkeypatch.setattr(tf.config.experimental, "get_device_details", lambda gpu: details)
    monkeypatch.setattr(compiling.os, "environ", {"XDG_CACHE_HOME": str(tmp_path)})
    return tf.config.PhysicalDevice("/physical_device:GPU:0", "GPU")


def test_programs_are_kept_by_version_and_kind_of_gpu(a_gpu, tmp_path):
    os.environ["XLA_FLAGS"] = "--xla_gpu_enable_triton_gemm=true"
    compile_fast()
    keep_compiled(a_gpu)
    folder = tmp_path / "rrn" / "xla" / f"{tf.__version__}-NVIDIA_H200"
    assert folder.is_dir()
    assert f"--tf_xla_persistent_cache_directory={folder} " in os.environ["TF_XLA_FLAGS"]
    flags = os.environ["XLA_FLAGS"].split()
    assert f"--xla_gpu_per_fusion_autotune_cache_dir={folder}" in flags
    assert "--xla_gpu_enable_triton_gemm=false" in flags
    assert flags[-1] == "--xla_gpu_enable_triton_gemm=true"  # the user's own comes last, and holds


def test_a_folder_of_the_users_own_stays(a_gpu):
    own = {"TF_XLA_FLAGS": "--tf_xla_persistent_cache_directory=/elsewhere"}
    os.environ.update(own)
    keep_compiled(a_gpu)
    assert os.environ["TF_XLA_FLAGS"] == own["TF_XLA_FLAGS"] and "XLA_FLAGS" not in os.environ


def test_a_cache_that_cannot_be_written_is_said(a_gpu, tmp_path, caplog):
    (tmp_path / "rrn").write_text("no folder")
    keep_compiled(a_gpu)
    assert "What XLA compiles is not kept" in caplog.text and "XLA_FLAGS" not in os.environ
