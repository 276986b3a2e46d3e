"""The Sudoku training step's algebra in PyTorch, for comparison with `benchmarks.sudoku_step`.

    pip install torch  # on a CPU: --index-url https://download.pytorch.org/whl/cpu
    python -m benchmarks.sudoku_step_torch [--batch_sizes 64] [--num_steps 32] [--seconds N]
        [--modes "eager float32" ...] [--json FILE]

Forward, loss over all cells and steps, backward and Adam; products in bfloat16 or float32, which on
a GPU is TF32, as in TensorFlow. It imports no TensorFlow, so any Python with PyTorch will do. The
ways are

    eager            operation by operation
    compiled         torch.compile
    reduce-overhead  torch.compile with its own CUDA graphs of forward and backward
    graph            eager, and the whole step, Adam included, one CUDA graph
    compiled graph   likewise of torch.compile

The last three need a GPU. Each mode is timed by itself, and its memory freed before the next; the
peak is of PyTorch's allocator. What is captured in a graph is run three times and captured while it
is "made", and torch.compile compiles at its first call.
"""

import gc
import itertools
import time

import torch
import torch.nn.functional as F

from benchmarks import timing

CUDA = torch.cuda.is_available()
DEVICE = "cuda" if CUDA else "cpu"
WAYS = "eager", "compiled", "reduce-overhead", "graph", "compiled graph"
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16}
MODES = [f"{way} {dtype}" for way in WAYS for dtype in DTYPES]
HIDDEN, EMBEDDING, NEIGHBOURS = 96, 16, 20
MLPS = {"input": 3 * EMBEDDING, "message": 2 * HIDDEN, "node": 2 * HIDDEN}


def neighbours():
    """`[81 * 20]`: the cells that share a row, column or box with each cell."""
    cell = torch.arange(81)
    row, column = cell // 9, cell % 9
    units = row, column, row // 3 * 3 + column // 3
    together = sum(unit[:, None] == unit for unit in units) * (cell[:, None] != cell)
    return together.nonzero()[:, 1]


class GatherSenders(torch.autograd.Function):
    """The senders' rows for all edges; the gradient is a gather and a sum, too, as it is in rrn.

    PyTorch's own adds row by row, with atomic additions on a GPU.
    """

    @staticmethod
    def forward(ctx, nodes, neighbours, edges_from):
        """`[boards, 81, size]` to `[boards, 81 * 20, size]`."""
        ctx.save_for_backward(edges_from)
        return nodes.index_select(1, neighbours)

    @staticmethod
    def backward(ctx, gradient):
        (edges_from,) = ctx.saved_tensors
        by_sender = gradient.index_select(1, edges_from)
        return by_sender.view(len(gradient), 81, NEIGHBOURS, -1).sum(2), None, None


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
        self.register_buffer("edges_from", self.neighbours.argsort(stable=True))

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
            heard = GatherSenders.apply(sent, self.neighbours, self.edges_from)
            heard = heard.view(boards, 81, NEIGHBOURS, HIDDEN)
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


class PyTorch(timing.Library):
    """What `timing.measure` asks of PyTorch."""

    uncounted = 4 if CUDA else 2  # "reduce-overhead" records in the second call

    def wait(self, result):
        if CUDA:
            torch.cuda.synchronize()

    def bytes_in_use(self):
        torch._dynamo.reset()  # else sizes that differ from those before would become variable
        gc.collect()
        if not CUDA:
            return None
        torch.cuda.set_stream(torch.cuda.default_stream())  # a failed capture leaves its own
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        return torch.cuda.memory_allocated()

    def peak_bytes(self):
        return torch.cuda.max_memory_allocated()


def training_step(mode, batch_size, num_steps):
    """A function that takes one step of Adam on boards of random digits."""
    way, _, dtype = mode.rpartition(" ")
    in_graph = way.endswith("graph")
    function = model = Model().to(DEVICE)
    if way.startswith("compiled"):
        function = torch.compile(model, dynamic=False)
    elif way == "reduce-overhead":
        function = torch.compile(model, dynamic=False, mode="reduce-overhead")
    options = {"fused": True, "capturable": in_graph} if CUDA else {}
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-4, **options)
    puzzle = torch.randint(0, 10, [batch_size, 81], device=DEVICE)
    solution = torch.randint(1, 10, [batch_size, 81], device=DEVICE)

    def step(_=None):
        if way == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        optimizer.zero_grad(set_to_none=True)
        loss = function(puzzle, solution, num_steps, DTYPES[dtype])
        loss.backward()
        optimizer.step()
        return loss.detach()

    return captured(step) if in_graph else step


def captured(step):
    """The step as one CUDA graph, after three steps outside of it."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay(_):
        graph.replay()
        return loss

    return replay


def case(mode, batch_size, num_steps):
    return timing.Case(
        mode,
        lambda: training_step(mode, batch_size, num_steps),
        batch_size,
        num_steps,
        dtype=mode.split()[-1],
        units=batch_size * num_steps,
    )


def main():
    parser = timing.argument_parser(__doc__, MODES, [64], [32], 5)
    if not CUDA:
        ways = "eager", "compiled"
        parser.set_defaults(modes=[mode for mode in MODES if mode.rpartition(" ")[0] in ways])
    arguments = parser.parse_args()
    deadline = time.monotonic() + arguments.seconds
    torch.set_float32_matmul_precision("high")  # TF32 on a GPU
    gpu = torch.cuda.get_device_name() if CUDA else "no GPU"
    hardware = f"{timing.cpu()}, {gpu}, PyTorch {torch.__version__}"
    print(hardware, flush=True)
    result = {"hardware": hardware, "rows": []}
    # Captures come last: what a failed one leaves behind then harms captures alone.
    sizes = arguments.modes, arguments.batch_sizes, arguments.num_steps
    for own in itertools.starmap(case, itertools.product(*sizes)):
        (row,) = timing.measure([own], PyTorch(), arguments.repeats, deadline)
        if "milliseconds" in row:  # now, since the next may take long
            print(f"{own}: {row['milliseconds']:.2f} ms", flush=True)
        result["rows"].append(row)
        timing.write_json(arguments.json, result)
    timing.print_rows(result["rows"], "board-steps")


if __name__ == "__main__":
    main()
