"""Sources that are whole, and whose contents are wrong: archives, texts, arrays of digits."""

import dataclasses
import io
import tarfile
import zipfile

import numpy as np
from hypothesis import strategies as st

from tests.fuzz import damage
from tests.fuzz.attempts import Change
from tests.fuzz.contents import changed_array

# An archive's members


def _members(change, words, names=("babi",)):
    """A change of an archive's members, [(name, content)]."""

    def apply(path):
        with tarfile.open(path) as archive:
            members = [(m.name, archive.extractfile(m).read()) for m in archive]
        with tarfile.open(path, "w:gz") as archive:
            for name, content in change(members):
                member = tarfile.TarInfo(name)
                if isinstance(content, bytes):
                    member.size = len(content)
                    archive.addfile(member, io.BytesIO(content))
                else:  # a kind of member, and where it leads
                    member.type, member.linkname = content
                    archive.addfile(member)

        return path

    return Change(apply, names, words=words)


def _twice(prefix, which):
    def change(members):
        name, content = members[which]
        return [*members, (prefix + name.removeprefix("top/"), content)]

    return _members(change, f"{which} again in {prefix!r}", ("babi", "qa1_"))


def _renamed(which, name):
    def change(members):
        return [
            (name if i == which else other, content) for i, (other, content) in enumerate(members)
        ]

    return _members(change, f"{which} is {name}", ("babi", "qa", "--tasks"))


def _special(which, kind, target):
    def change(members):
        return [
            (name, (kind, target) if i == which else content)
            for i, (name, content) in enumerate(members)
        ]

    return _members(change, f"{which} is of type {kind!r} to {target!r}")


def _packed(pack):
    def apply(path):
        with tarfile.open(path) as archive:
            members = [(m.name, archive.extractfile(m).read()) for m in archive]
        if pack == "zip":
            with zipfile.ZipFile(path, "w") as file:
                for member in members:
                    file.writestr(*member)
        else:
            with tarfile.open(path, f"w:{pack}") as file:
                for name, content in members:
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    file.addfile(member, io.BytesIO(content))

    return Change(apply, words=f"packed as {pack!r}")


NAMES = ["qa2_train.txt", "top/en-valid-10k/qa0_train.txt", "top/en-valid-10k/qa99999_test.txt"]
NAMES += ["top/en-valid-10k", "top/en-valid-10k/qa1_train.txt/x", "top/en/qa1_train.txt", "x"]
WHICH = st.integers(0, 2)
MEMBERS = st.one_of(
    st.builds(_twice, st.sampled_from(["top/", "top/./", "./top/", "other/", "/top/", ""]), WHICH),
    st.builds(_renamed, WHICH, st.sampled_from(NAMES)),
    st.builds(
        _special,
        WHICH,
        st.sampled_from([tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE]),
        st.sampled_from(["/etc/passwd", "qa1_test.txt", "../../x", ""]),
    ),
    st.sampled_from(["", "bz2", "xz", "zip"]).map(_packed),
)

# A text's fields

TOKENS = {
    0: ["0", "2", "-1", "1e3", "\u0663", "9" * 5000, "", " 1", "01", "\ufeff1", "1.", "99"],
    1: [
        "",
        ".",
        "x",
        " .",
        "<unk> .",
        "<UNK>.",
        "a\tb.",
        "a\0b.",
        "w " * 256 + ".",
        "\x1c.",
        "a?b",
    ],
    2: ["", "<unk>", "a b", ",", "a,", "a\0b", "\u2028", "x" * 70_000, "\x85", "."],
    3: ["", "0", "3", "x", "1 1", "1 2", "-1", "9" * 5000, "\u0661", "1,2", "1.0"],
}


def _field(file, line, field, token):
    def apply(path):
        path = sorted(path.glob("*.txt"))[file]
        lines = path.read_text().split("\n")
        number, _, rest = lines[line].partition(" ")
        parts = [number, *rest.split("\t")]
        parts[field % len(parts)] = TOKENS[field][token % len(TOKENS[field])]
        lines[line] = f"{parts[0]} {chr(9).join(parts[1:])}"
        path.write_text("\n".join(lines))

    words = f"file {file}, line {line}, field {field}: {token}"
    return Change(apply, ("qa1_",), False, words)


TEXTS = st.builds(
    _field, WHICH, WHICH, st.integers(0, 3), st.integers(0, max(map(len, TOKENS.values())) - 1)
)

# The arrays of mnist.npz

DIGITS = ["x_train", "y_train", "x_test", "y_test"]
HEADERS = [
    "(3,)",
    "(10**30, 28, 28)",
    "(-1, 28, 28)",
    "(9, 28, 28, )",
    "9",
    "'x'",
    "(1e9,)",
    "(",
    "",
]


def _array(name, kind, place):
    def apply(path):
        arrays = dict(np.load(path))
        if kind == "lost":
            del arrays[name]
        elif kind == "objects":
            arrays[name] = np.array([{}], object)
        elif kind == "header":
            return _set_header(path, name, HEADERS[place % len(HEADERS)])
        elif kind == "label":
            arrays[name] = np.full_like(arrays[name], 10) if name[0] == "y" else arrays[name][:, 1:]
        else:
            arrays[name] = changed_array(arrays[name], kind, place)
        np.savez(path, **arrays)
        return None

    return Change(apply, words=f"{name}: {kind} {place}")


def _set_header(path, name, shape):
    with zipfile.ZipFile(path) as file:
        contents = {member: file.read(member) for member in file.namelist()}
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    start = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode()
    contents[f"{name}.npy"] = start + contents[f"{name}.npy"][128:]
    with zipfile.ZipFile(path, "w") as file:
        for member, content in contents.items():
            file.writestr(member, content)


NPZ = st.builds(
    _array,
    st.sampled_from(DIGITS),
    st.sampled_from(
        ["lost", "objects", "label", "flat", "cut", "dtype", "empty", "header", "header"]
    ),
    st.integers(0, 100),
)

KINDS = {
    "bAbI archive's members": dataclasses.replace(damage.KINDS["bAbI archive"], changes=MEMBERS),
    "bAbI text's fields": dataclasses.replace(damage.KINDS["bAbI text"], changes=TEXTS),
    "MNIST arrays": dataclasses.replace(damage.KINDS["MNIST archive"], changes=NPZ),
}
