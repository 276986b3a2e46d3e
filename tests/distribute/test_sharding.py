"""Which server holds which rows."""

import itertools

import pytest

from rrn.distribute.sharding import (
    POLICIES,
    Shard,
    VariableSize,
    imbalance,
    place,
    server_bytes,
)


def size(name, *shape):
    count = 4
    for length in shape:
        count *= length
    return VariableSize(name, shape, count)


WIDTHS = [3, 64, 64, 128, 128, *[256] * 4, *[512] * 8]
VGG19 = [
    *(size(f"conv_{i}", 3, 3, *pair) for i, pair in enumerate(itertools.pairwise(WIDTHS))),
    size("dense_0", 25088, 4096),
    size("dense_1", 4096, 4096),
    size("dense_2", 4096, 1000),
]
SMALL = [size("a", 5, 2), size("scalar"), size("b", 1, 3), size("c", 7)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("num_servers", [1, 2, 3, 7])
@pytest.mark.parametrize("variables", [VGG19, SMALL])
def test_every_row_is_on_one_server(policy, num_servers, variables):
    plan = place(policy, variables, num_servers)
    for variable, shards in zip(variables, plan, strict=True):
        rows = [row for s in shards for row in range(s.first, s.first + s.rows)]
        assert rows == list(range(variable.shape[0] if variable.shape else 1))
        assert all(s.rows > 0 and 0 <= s.server < num_servers for s in shards)
    assert sum(server_bytes(plan, variables, num_servers)) == sum(v.bytes for v in variables)


def test_round_robin_deals_whole_tensors_in_order():
    plan = place("round_robin", SMALL, 3)
    assert plan == [[Shard(0, 0, 5)], [Shard(1, 0, 1)], [Shard(2, 0, 1)], [Shard(0, 0, 7)]]


def test_fixed_shards_makes_as_many_as_servers_of_what_has_the_rows():
    plan = place("fixed_shards", SMALL, 2)
    assert plan == [
        [Shard(0, 0, 2), Shard(1, 2, 3)],
        [Shard(0, 0, 1)],
        [Shard(1, 0, 1)],
        [Shard(0, 0, 3), Shard(1, 3, 4)],
    ]


def test_min_size_makes_no_shard_below_256_kibibytes():
    # 2.5 times 256 KiB make two shards, one time makes one
    plan = place("min_size", [size("a", 640, 256), size("b", 256, 256)], 4)
    assert [len(shards) for shards in plan] == [2, 1]
    assert len(place("min_size", [size("a", 4096, 4096)], 4)[0]) == 4


def test_balanced_splits_only_what_would_unbalance():
    # 6 + 3 + 2 + 1 rows on two servers: 6 and 3 + 2 + 1, nothing to split
    plan = place("balanced", [size("a", 6), size("b", 3), size("c", 2), size("d", 1)], 2)
    assert plan == [[Shard(0, 0, 6)], [Shard(1, 0, 3)], [Shard(1, 0, 2)], [Shard(1, 0, 1)]]
    # 10 + 2 rows: the first is split at 6, and the second goes beside its rest
    plan = place("balanced", [size("a", 10), size("b", 2)], 2)
    assert plan == [[Shard(0, 0, 6), Shard(1, 6, 4)], [Shard(1, 0, 2)]]
    split = [len(shards) for shards in place("balanced", VGG19, 7)]
    assert split[VGG19.index(size("dense_0", 25088, 4096))] > 1 and split.count(1) >= 17


def test_one_server_carries_most_of_vgg19_unless_variables_are_split():
    def of(policy, num_servers):
        return imbalance(place(policy, VGG19, num_servers), VGG19, num_servers)

    assert of("cpu", 2) == 2.0
    # dense_0 has 411 of 575 million bytes.
    assert of("round_robin", 2) > 1.45 and of("round_robin", 7) > 5.0
    for num_servers in (2, 3, 7):
        assert of("balanced", num_servers) < 1.02
        assert of("fixed_shards", num_servers) < 1.05


def test_an_unknown_policy_is_an_error():
    with pytest.raises(ValueError, match=r"policy must be one of cpu, .*balanced, got 'gpu'"):
        place("gpu", SMALL, 2)
