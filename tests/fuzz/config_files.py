"""Config files: Python that fails, wrong values of fields, and damaged text.

main.py runs with the file as far as its start, which must notice what is wrong.
"""

from dataclasses import replace

from hypothesis import strategies as st

from tests.fuzz.attempts import Change, Kind
from tests.fuzz.command_lines import WRONG_FIELDS, start_main
from tests.fuzz.contents import write_babi
from tests.fuzz.damage import damages

CONFIG = """import configs.babi
from rrn.config import replace


def get_config(variant=""):
    config = replace(configs.babi.get_config("test"), data={{"path": {data!r}}})
    # here
    return config
"""
# Lines in place of the comment; each must end in an error
WRONG_LINES = [
    *("1 / 0", "{}[1]", "[][1]", "None.x", "nothing", "import nothing", "assert variant, 5"),
    *("raise SystemExit(0)", "exit('x')", "raise Exception", "raise OSError(2, 'x', 'y')"),
    *("raise KeyError('a\\nb')", "raise MemoryError", "raise StopIteration", "raise EOFError"),
    *("return get_config(variant)", "open('nothing.txt')", "b'\\xff'.decode()", "int('9' * 5000)"),
    *("import json; json.loads('{')", "return", "return {}", "return get_config", "yield 1"),
    *("config = config.train", "config.train = 3", "config.model = None", "del config.seed"),
    *("config.nothing = 1", "config.train.nothing = 1", "config['a b'] = 1", "config.lock(1, 2)"),
    *("config = replace(config, nothing=1)", "config = replace(config, train={'nothing': 1})"),
    *("x = 1 +", "  x = 1", "x = '", "\\0", "\\xff", "await 1", "break", "nonlocal x"),
    *("config = replace(config, seed=1j)", "config = replace(config, data={'path': b'x'})"),
    *("config = replace(config, data=config.data.path)", "config = replace(config, task=['babi'])"),
    *("config = replace(config, evaluate={'split': None})", "import os; os.abort"),
    *("config = replace(config, data={'path': ''})", "config = replace(config, model=config.data)"),
    *("config = replace(config, variables={'policy': {'kind': 'cpu', 'axis': 'longest'}})",),
    *(
        f"config = replace(config, train={{'stages': {stages}}})"
        for stages in (
            *("{'loss': 1}", "('loss',)", "({'name': 'a/b'},)", "({1: 2},)", "()", "config.train"),
            "config.train.stages * 2",
            "({'name': 'a', 'num_updates': 0, 'learning_rate': 1.0},)",
        )
    ),
]
NO_VALUE = [
    *("None", "'x'", "b'x'", "-1", "10**20", "10**5000", "float('nan')", "float('inf')", "1j"),
    *("{1}", "[1]", "()", "{}", "object()", "len", "True", "__import__('numpy').float32(1)"),
    *("__import__('numpy').int64(3)", "__import__('pathlib').Path('x')", "config", "type"),
    "__import__('fractions').Fraction(1, 3)",
]
# A damaged config file may name another file of data, or another field.
OF_DAMAGED_CONFIGS = ("config", "no such file", "no such field")
OF_STAGES = ["learning_rate", "num_updates", "l2", "clip_norm", "error_share", "error_power"]
OF_STAGES += ["optimizer", "schedule", "segments", "options"]
OF_STAGES += ["loss", "modules", "name", "objectives", "nothing"]
OF_CONFIG = [
    name
    for name in WRONG_FIELDS
    if name.startswith(("model.", "train.", "seed")) and name.count(".") < 2
]


def _write_config(path):
    (path.parent / "out").mkdir()
    data = path.parent / "out" / "babi.h5"
    write_babi(data)
    path.write_text(CONFIG.format(data=str(data)))


def _start_config(path):
    return start_main([f"--config={path}"], path.parent / "out")


def _line(line, *names, wrong=True):
    def apply(path):
        path.write_text(path.read_text().replace("# here", line))

    return Change(apply, ("config.py", *names), wrong, line)


def _replacing(name, value):
    part, _, field = name.rpartition(".")
    given = f"{part}={{'{field}': {value}}}" if part else f"{field}={value}"
    return f"config = replace(config, {given})"


def _stage(name, value):
    stage = f"replace(*config.train.stages, **{{'name': 'a', '{name}': {value}}})"
    return _line(
        f"config = replace(config, train={{'stages': [{stage}]}})",
        name,
        wrong=value not in ("'x'", "()", "{}", "None"),  # these are right for some
    )


CONFIG_FILES = st.one_of(
    st.sampled_from(WRONG_LINES).map(lambda line: _line(line, "train", "seed", "model", "data")),
    st.builds(_stage, st.sampled_from(OF_STAGES), st.sampled_from(["-1", *NO_VALUE])),
    st.builds(
        lambda name, value: _line(_replacing(name, value), name.rpartition(".")[2]),
        st.sampled_from(OF_CONFIG),
        st.sampled_from(NO_VALUE),
    ),
)
KINDS = {
    "config files": Kind("config.py", _write_config, _start_config, CONFIG_FILES, 0.3),
    "config files' text": Kind(
        "config.py",
        _write_config,
        _start_config,
        damages(wrong=False).map(lambda change: replace(change, names=OF_DAMAGED_CONFIGS)),
        share=0.2,
    ),
}
