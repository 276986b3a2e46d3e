"""Makes TensorFlow's gRPC server listen on one address of the machine.

Whatever address it is given, TensorFlow binds its server to all of the machine's addresses
(`[::]:port`), and has no option against it. Its servers obey whoever connects. So while a server
starts, the `bind` that TensorFlow's libraries call is replaced, in their tables of imported
functions, by one that puts the address in. This needs Linux; elsewhere it is an error.
"""

import contextlib
import ctypes
import mmap
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

_BIND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_uint32)
_STRTAB, _SYMTAB, _PLTRELSZ, _JMPREL = 5, 6, 2, 23  # tags of ELF's dynamic section
_RELOCATION = np.dtype([("offset", "u8"), ("info", "u8"), ("addend", "i8")])
_SYMBOL = np.dtype([("name", "u4"), ("rest", "V20")])


def _imports(library, name):
    """The slots, `ctypes.c_void_p`, through which a loaded library calls function `name`."""
    # What dlopen gives is glibc's link_map: the base address, the file's name, the dynamic section.
    handle = ctypes.CDLL(str(library))._handle
    base, _, dynamic = (ctypes.c_uint64 * 3).from_address(handle)
    tags = {}
    while (entry := struct.unpack("qQ", ctypes.string_at(dynamic, 16)))[0]:
        tags[entry[0]] = entry[1]
        dynamic += 16
    relocations = np.frombuffer(ctypes.string_at(tags[_JMPREL], tags[_PLTRELSZ]), _RELOCATION)
    numbers = relocations["info"] >> 32
    size = int(numbers.max() + 1) * _SYMBOL.itemsize
    names = np.frombuffer(ctypes.string_at(tags[_SYMTAB], size), _SYMBOL)["name"][numbers]
    wanted = name.encode() + b"\0"
    for offset, place in zip(relocations["offset"], names, strict=True):
        if ctypes.string_at(tags[_STRTAB] + int(place), len(wanted)) == wanted:
            yield ctypes.c_void_p.from_address(base + int(offset))


@contextlib.contextmanager
def listening_only_on(host: str, port: int) -> Iterator[None]:
    """Within it TensorFlow's servers that bind a port do so on one address alone.

    Args:
      host: the name of the address.

    Raises:
      ConnectionError: `port` is open on another address when the scope ends. This happens where the
        system is not Linux, or with a version of TensorFlow that binds in another way.
    """
    address = socket.inet_aton(socket.gethostbyname(host))
    libc_bind = _BIND(("bind", ctypes.CDLL(None)))

    def bind(descriptor, name, size):
        family, its_port = struct.unpack("=H", ctypes.string_at(name, 2))[0], _port_at(name)
        if its_port == port and family == socket.AF_INET6:  # an IPv4 address, mapped
            ctypes.memmove(name + 8, bytes(10) + b"\xff\xff" + address, 16)
        elif its_port == port and family == socket.AF_INET:
            ctypes.memmove(name + 4, address, 4)
        return libc_bind(descriptor, name, size)

    replacement = _BIND(bind)
    slots = []
    if sys.platform == "linux":
        libraries = Path(tf.__file__).parent.glob("libtensorflow_*.so*")
        slots = [slot for library in libraries for slot in _imports(library, "bind")]
    before = [slot.value for slot in slots]
    try:
        for slot in slots:
            _make_writable(slot)
            slot.value = ctypes.cast(replacement, ctypes.c_void_p).value
        yield
    finally:
        for slot, value in zip(slots, before, strict=True):
            slot.value = value
    if (open_on := _addresses_of(port)) != {address}:
        raise ConnectionError(
            f"TensorFlow's server does not listen on {host}:{port} alone "
            f"(open there: {[a.hex() for a in open_on]}); it would take commands from anywhere"
        )


def _make_writable(slot):
    """TensorFlow 2.18's libraries are linked so that their tables can only be read once filled."""
    page = ctypes.addressof(slot) // mmap.PAGESIZE * mmap.PAGESIZE
    protection = ctypes.c_int(mmap.PROT_READ | mmap.PROT_WRITE)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mprotect(ctypes.c_void_p(page), ctypes.c_size_t(mmap.PAGESIZE), protection):
        raise OSError(ctypes.get_errno(), "mprotect of a table of imported functions failed")


def _port_at(name):
    return struct.unpack(">H", ctypes.string_at(name + 2, 2))[0]


def _addresses_of(port):
    """The IPv4 addresses, 4 bytes each, on which a process here listens on `port`."""
    addresses = set()
    for path in map(Path, ("/proc/net/tcp", "/proc/net/tcp6")):
        for line in path.read_text().splitlines()[1:] if path.exists() else ():
            _, local, _, state, *_ = line.split()
            where, its_port = local.split(":")
            if state == "0A" and int(its_port, 16) == port:
                addresses.add(struct.pack("=I", int(where[-8:], 16)))
    return addresses
