"""How fast training with parameter servers can be.

A model of its rate against workers, servers and bandwidth, and a table from what
`benchmarks.parameter_servers` has measured:

    python -m benchmarks.parameter_servers_model FILE [--gbit 10] [--ps 2,8,32] [--sync]

FILE is the study's JSON. With W workers, c seconds that a worker computes for its batch, b_k bytes
that server k sends, and gets, for one worker's update, b = Σ b_k, and a network card of every
machine that carries B bytes a second each way, the batches a second are at most

    asynchronous   min(W / (c + 2 b / B), B / max b_k)
    synchronous    W / (c + 2 max(W max b_k, b) / B)

Asynchronous: a worker reads, computes, writes; a server's card is full when it sends max b_k
for each update, and then more workers bring nothing. Synchronous: all read at once, then all
compute, then all write, so that the busiest server's card is never more than half used. Latency,
the servers' own arithmetic, slow workers, and transfers while the worker computes are not in it.
"""

import argparse
import json
import sys

from rrn.data_prep.failures import exit_status
from rrn.distribute.sharding import VariableSize, place, server_bytes

WORKERS = 1, 2, 4, 8, 16, 32, 64, 128, 256


def asynchronous_rate(workers, compute_seconds, loads, bandwidth):
    """Batches a second of all workers; loads: b_k in bytes, bandwidth: B in bytes a second."""
    alone = compute_seconds + 2 * sum(loads) / bandwidth
    return min(workers / alone, bandwidth / max(loads))


def synchronous_rate(workers, compute_seconds, loads, bandwidth):
    """Batches a second, one of each worker in every update."""
    one_way = max(workers * max(loads), sum(loads)) / bandwidth
    return workers / (compute_seconds + 2 * one_way)


def saturation(compute_seconds, loads, bandwidth):
    """From how many workers on the busiest server's card is full, asynchronously."""
    return (compute_seconds + 2 * sum(loads) / bandwidth) * bandwidth / max(loads)


def table(study, gbit, numbers_of_servers, rate=asynchronous_rate):
    """In Markdown, batches a second by model, servers, policy and workers."""
    columns = ["model", "ps", "policy", "largest / mean", "full at", *map(str, WORKERS)]
    rows, bandwidth = [columns, ["---"] * len(columns)], gbit * 1e9 / 8
    for name, model in study["models"].items():
        variables = [VariableSize(n, tuple(shape), size) for n, shape, size in model["variables"]]
        for servers in numbers_of_servers:
            for policy in study["policies"]:
                loads = server_bytes(place(policy, variables, servers), variables, servers)
                arguments = model["compute_seconds"], loads, bandwidth
                imbalance = max(loads) * servers / sum(loads)
                first = [name, str(servers), policy, f"{imbalance:.2f}"]
                rates = [f"{rate(workers, *arguments):.1f}" for workers in WORKERS]
                rows.append([*first, f"{saturation(*arguments):.1f}", *rates])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("file", help="results.json that `benchmarks.parameter_servers` wrote")
    parser.add_argument("--gbit", type=float, default=10, help="of each machine's network card")
    parser.add_argument("--ps", default="2,8,32", help="numbers of servers, separated by commas")
    parser.add_argument("--sync", action="store_true", help="synchronous updates")
    arguments = parser.parse_args()
    with open(arguments.file) as file:
        study = json.load(file)
    print(study["hardware"])
    servers = [int(number) for number in arguments.ps.split(",")]
    rate = synchronous_rate if arguments.sync else asynchronous_rate
    print(table(study, arguments.gbit, servers, rate))


if __name__ == "__main__":
    sys.exit(exit_status(main))
