"""The Sudoku training step's algebra in PyTorch, for comparison with `benchmarks.sudoku_step`.

    pip install torch --index-url https://download.pytorch.org/whl/cpu
    python -m benchmarks.sudoku_step_torch [--batch_size 64] [--num_steps 32]

Forward, loss over all cells and steps, backward and Adam; products in bfloat16 or float32; eager
and compiled in turn. It imports no TensorFlow, so any Python with PyTorch will do.
"""

import argparse
import itertools
import statistics
import time

import torch
import torch.nn.functional as F

HIDDEN, EMBEDDING, NEIGHBOURS = 96, 16, 20
MLPS = {"input": 3 * EMBEDDING, "message": 2 * HIDDEN, "node": 2 * HIDDEN}


def neighbours():
    """`[81 * 20]`: the cells that share a row, column or box with each cell."""
    cell = torch.arange(81)
    row, column = cell // 9, cell % 9
    units = row, column, row // 3 * 3 + column // 3
    together = sum(unit[:, None] == unit for unit in units) * (cell[:, None] != cell)
    return together.nonzero()[:, 1]


class Model(torch.nn.Module):
    """The paper's network on the rows that the exact algebra needs."""

    def __init__(self):
        super().__init__()
        sizes = {name: [size] + [HIDDEN] * 4 for name, size in MLPS.items()}
        sizes |= {"lstm": [2 * HIDDEN, 4 * HIDDEN], "readout": [HIDDEN, 10]}
        self.weights = torch.nn.ParameterDict()
        for name, widths in sizes.items():
            for i, shape in enumerate(itertools.pairwise(widths)):
                kernel = torch.nn.init.xavier_uniform_(torch.empty(shape))
                self.weights[f"{name}_{i}_w"] = torch.nn.Parameter(kernel)
                self.weights[f"{name}_{i}_b"] = torch.nn.Parameter(torch.zeros(shape[1]))
        tables = [torch.nn.Parameter(torch.randn(n, EMBEDDING) * 0.1) for n in (10, 9, 9)]
        self.tables = torch.nn.ParameterList(tables)
        self.register_buffer("neighbours", neighbours())

    def forward(self, puzzle, solution, num_steps, dtype):
        boards = len(puzzle)
        w = {name: weight.to(dtype) for name, weight in self.weights.items()}

        def linear(x, name):
            return torch.addmm(w[f"{name}_b"], x, w[f"{name}_w"])

        def folded(name, following):
            """Two linear layers in a row as one: its kernel and bias, multiplied in float32."""
            kernel, bias = self.weights[f"{name}_w"], self.weights[f"{name}_b"]
            return (kernel @ following).to(dtype), bias @ following

        cell = torch.arange(81, device=puzzle.device)
        places = [self.tables[1][cell // 9], self.tables[2][cell % 9]]
        features = [self.tables[0][puzzle], *(p.expand(boards, -1, -1) for p in places)]
        x = torch.cat(features, -1).reshape(-1, 3 * EMBEDDING).to(dtype)
        for i in range(3):
            x = F.relu(linear(x, f"input_{i}"))
        x = linear(x, "input_3")

        sender, receiver = w["message_0_w"].split(HIDDEN)
        _, from_x = w["node_0_w"].split(HIDDEN)
        message_kernel, message_bias = folded("message_3", self.weights["node_0_w"][:HIDDEN])
        constant = torch.addmm(w["node_0_b"], x, from_x) + (NEIGHBOURS * message_bias).to(dtype)
        from_node, from_hidden = self.weights["lstm_0_w"].split(HIDDEN)
        gate_kernel, gate_bias = folded("node_3", from_node)
        gate_bias = (gate_bias + self.weights["lstm_0_b"]).to(dtype)
        from_hidden = from_hidden.to(dtype)

        h, c, states = x, None, []
        for _ in range(num_steps):
            h = h.to(dtype)
            sent = (h @ sender).view(boards, 81, HIDDEN)
            heard = sent.index_select(1, self.neighbours).view(boards, 81, NEIGHBOURS, HIDDEN)
            own = torch.addmm(w["message_0_b"], h, receiver).view(boards, 81, 1, HIDDEN)
            edges = F.relu(heard + own).view(-1, HIDDEN)
            edges = F.relu(linear(F.relu(linear(edges, "message_1")), "message_2"))
            sums = edges.view(-1, NEIGHBOURS, HIDDEN).sum(1)
            z = F.relu(torch.addmm(constant, sums, message_kernel))
            z = F.relu(linear(F.relu(linear(z, "node_1")), "node_2"))
            gates = torch.addmm(gate_bias, z, gate_kernel)
            if c is not None:
                gates = gates + h @ from_hidden
            i, j, f, o = gates.float().chunk(4, 1)
            new = torch.sigmoid(i) * torch.tanh(j)
            c = new if c is None else new + torch.sigmoid(f + 1.0) * c
            h = torch.sigmoid(o) * torch.tanh(c)
            states.append(h)
        logits = linear(torch.cat(states).to(dtype), "readout_0").float()
        return F.cross_entropy(logits, solution.reshape(-1).repeat(num_steps))


def training_step(function, model, batch_size, num_steps, dtype):
    """A function that takes one step of Adam on boards of random digits."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4)
    puzzle = torch.randint(0, 10, [batch_size, 81])
    solution = torch.randint(1, 10, [batch_size, 81])

    def step():
        optimizer.zero_grad()
        loss = function(puzzle, solution, num_steps, dtype)
        loss.backward()
        optimizer.step()
        return loss.item()

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--num_steps", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=5, help="timed steps of every mode")
    arguments = parser.parse_args()
    steps = {}
    for name, compiled in (("eager", lambda model: model), ("compiled", torch.compile)):
        for dtype in (torch.float32, torch.bfloat16):
            model = Model()
            sizes = arguments.batch_size, arguments.num_steps
            step = training_step(compiled(model), model, *sizes, dtype)
            steps[f"{name} {str(dtype).removeprefix('torch.')}"] = step
    for step in steps.values():
        for _ in range(2):
            step()
    seconds = {name: [] for name in steps}
    for _ in range(arguments.repeats):
        for name, step in steps.items():
            start = time.perf_counter()
            step()
            seconds[name].append(time.perf_counter() - start)
    print("PyTorch {}, batch {}, {} steps".format(torch.__version__, *sizes))
    for name, times in seconds.items():
        median = statistics.median(times)
        print(f"{name:<18} {1e3 * median:7.0f} ms {sizes[0] / median:7.1f} puzzles/s")


if __name__ == "__main__":
    main()
