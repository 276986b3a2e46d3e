"""Which server holds which part of which variable."""

import itertools

import pytest

from rrn.distribute.sharding import POLICIES, Shard, VariableSize, place, server_bytes


def size(name, *shape):
    count = 4
    for length in shape:
        count *= length
    return VariableSize(name, shape, count)


def with_bias(kernel):
    return kernel, size(f"{kernel.name}/b", kernel.shape[-1])


WIDTHS = [1, 64, 64, 128, 128, *[256] * 4, *[512] * 8]
CONVOLUTIONS = [size(f"conv_{i}", 3, 3, *pair) for i, pair in enumerate(itertools.pairwise(WIDTHS))]


def vgg19(input_size):
    """The variables of configs/vgg19.py in the order of their creation."""
    pixels = (input_size // 32) ** 2
    sizes = itertools.pairwise([512 * pixels, 4096, 4096, 10])
    dense = [size(f"dense_{i}", *pair) for i, pair in enumerate(sizes)]
    return [variable for kernel in [*CONVOLUTIONS, *dense] for variable in with_bias(kernel)]


SMALL = [size("a", 5, 2), size("scalar"), size("b", 1, 3), size("c", 7)]
EMPTY = [size("none", 0, 3), size("a", 4, 2), size("no", 2, 0)]


def imbalance(plan, variables, num_servers):
    """The largest server's bytes over the servers' mean."""
    loads = server_bytes(plan, variables, num_servers)
    return max(loads) * num_servers / sum(loads) if sum(loads) else 1.0


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("axis", ["longest", "0", "3"])
@pytest.mark.parametrize("num_servers", [1, 2, 3, 7])
@pytest.mark.parametrize("variables", [vgg19(32), SMALL, EMPTY, EMPTY[:1]])
def test_every_slice_is_on_one_server(policy, axis, num_servers, variables):
    plan = place(policy, variables, num_servers, axis)
    for variable, shards in zip(variables, plan, strict=True):
        (cut,) = {s.axis for s in shards}
        slices = [i for s in shards for i in range(s.first, s.first + s.length)]
        assert slices == list(range((variable.shape or (1,))[cut]))
        assert all(0 <= s.server < num_servers for s in shards)
        assert all(s.length > 0 for s in shards) if variable.bytes else len(shards) == 1
    assert sum(server_bytes(plan, variables, num_servers)) == sum(v.bytes for v in variables)


def test_the_longest_axis_is_cut_or_the_one_that_is_named():
    variables = [size("kernel", 3, 3, 8, 8), size("matrix", 2, 5), size("bias", 4)]

    def axes(axis):
        return [shards[0].axis for shards in place("fixed_shards", variables, 2, axis)]

    assert axes("longest") == [2, 1, 0]  # of the two axes of 8 the first
    assert axes("0") == [0, 0, 0]
    assert axes("1") == [1, 1, 0]  # a bias has no axis 1
    assert axes("3") == [3, 1, 0]


def test_round_robin_deals_whole_tensors_in_order():
    plan = place("round_robin", SMALL, 3)
    assert plan == [
        [Shard(0, 0, 0, 5)],
        [Shard(1, 0, 0, 1)],
        [Shard(2, 1, 0, 3)],
        [Shard(0, 0, 0, 7)],
    ]


def test_fixed_shards_makes_as_many_as_servers_of_what_has_the_slices():
    plan = place("fixed_shards", SMALL, 2)
    assert plan == [
        [Shard(0, 0, 0, 2), Shard(1, 0, 2, 3)],
        [Shard(0, 0, 0, 1)],
        [Shard(1, 1, 0, 1), Shard(0, 1, 1, 2)],
        [Shard(1, 0, 0, 3), Shard(0, 0, 3, 4)],
    ]
    assert place("fixed_shards", SMALL, 2, "0")[2] == [Shard(1, 0, 0, 1)]


def test_balanced_splits_only_what_would_unbalance():
    def row(server, first, length):
        return Shard(server, 0, first, length)

    # 6 + 3 + 2 + 1 rows on two servers: 6 and 3 + 2 + 1, nothing to split
    plan = place("balanced", [size("a", 6), size("b", 3), size("c", 2), size("d", 1)], 2)
    assert plan == [[row(0, 0, 6)], [row(1, 0, 3)], [row(1, 0, 2)], [row(1, 0, 1)]]
    # 10 + 2 rows: the first is split at 6, and the second goes beside its rest
    plan = place("balanced", [size("a", 10), size("b", 2)], 2)
    assert plan == [[row(0, 0, 6), row(1, 6, 4)], [row(1, 0, 2)]]
    split = [len(shards) for shards in place("balanced", vgg19(224), 7)]
    assert split[32] > 1 and split.count(1) >= 35  # dense_0 of 38 variables


@pytest.mark.parametrize("input_size", [32, 224])
@pytest.mark.parametrize("num_servers", [2, 3, 7, 8, 32])
def test_one_server_carries_most_of_vgg19_unless_variables_are_split(input_size, num_servers):
    variables = vgg19(input_size)

    def of(policy, axis="longest"):
        return imbalance(place(policy, variables, num_servers, axis), variables, num_servers)

    assert of("cpu") == num_servers
    # At 224 pixels dense_0 has 411 of 558 million bytes, at 32 pixels dense_1 has 67 of 156.
    largest = 0.73 if input_size == 224 else 0.43
    assert of("round_robin") > largest * num_servers
    assert of("balanced") < 1.02
    assert of("fixed_shards") < 1.02


def test_a_convolution_of_three_rows_is_not_cut_evenly_by_rows():
    variables = vgg19(32)
    for num_servers, rows in ((2, 1.17), (8, 1.06), (32, 1.29)):
        for axis, expected in (("0", rows), ("longest", 1.0), ("3", 1.0)):
            plan = place("fixed_shards", variables, num_servers, axis)
            assert imbalance(plan, variables, num_servers) == pytest.approx(expected, abs=0.01)
