"""How many bytes processes have sent and received over TCP, as the Linux kernel counts them.

Asked for through netlink (sock_diag(7)), which needs no privileges: a dump of the TCP sockets, each
with its inode and `tcp_info`; a process's are those among its open files.
"""

import os
import re
import socket
import struct

SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, NLMSG_ERROR, NLMSG_DONE = 20, 0x301, 2, 3
INET_DIAG_INFO = 2
ESTABLISHED = 1 << 1
MESSAGE_HEADER = struct.Struct("=LHHLL")  # length, type, flags, sequence number, sender
REQUEST = struct.Struct("=BBBxL48x")  # family, protocol, extensions, states, socket's addresses
ANSWER = struct.Struct("=4B48x4LL")  # ..., inode
ATTRIBUTE = struct.Struct("=HH")  # length, type
BYTES_ACKED = 120  # where in tcp_info; then bytes_received


def tcp_bytes(pid):
    """(bytes sent and acknowledged, bytes received) over the process's TCP connections until now.

    Connections that are closed by now do not count. Headers and repeated segments never do.
    """
    inodes = _socket_inodes(pid)
    counts = [count for inode, count in _established() if inode in inodes]
    return tuple(map(sum, zip(*counts, strict=True))) if counts else (0, 0)


def _socket_inodes(pid):
    """The inodes of the process's open sockets."""
    inodes = set()
    for file in os.listdir(f"/proc/{pid}/fd"):
        try:
            target = os.readlink(f"/proc/{pid}/fd/{file}")
        except FileNotFoundError:
            continue  # closed meanwhile
        if match := re.fullmatch(r"socket:\[(\d+)\]", target):
            inodes.add(int(match[1]))
    return inodes


def _established():
    """(inode, (bytes acknowledged, bytes received)) of every established TCP connection."""
    for family in (socket.AF_INET, socket.AF_INET6):
        request = REQUEST.pack(family, socket.IPPROTO_TCP, 1 << (INET_DIAG_INFO - 1), ESTABLISHED)
        header = MESSAGE_HEADER.pack(
            MESSAGE_HEADER.size + len(request), SOCK_DIAG_BY_FAMILY, NLM_F_REQUEST_DUMP, 0, 0
        )
        for body in _dump(header + request):
            inode = ANSWER.unpack_from(body)[-1]
            yield inode, _byte_counts(body[ANSWER.size :])


def _dump(request):
    """The bodies of the messages that answer a netlink request."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 4) as link:  # 4: NETLINK_SOCK_DIAG
        link.send(request)
        while True:
            data = link.recv(1 << 20)
            while data:
                length, kind, *_ = MESSAGE_HEADER.unpack_from(data)
                if kind == NLMSG_DONE:
                    return
                if kind == NLMSG_ERROR:
                    raise OSError("the kernel does not list TCP sockets (no inet_diag)")
                yield data[MESSAGE_HEADER.size : length]
                data = data[-(-length // 4) * 4 :]


def _byte_counts(attributes):
    """(bytes acknowledged, bytes received) from a socket's attributes."""
    while attributes:
        length, kind = ATTRIBUTE.unpack_from(attributes)
        if kind == INET_DIAG_INFO:
            return struct.unpack_from("=QQ", attributes, ATTRIBUTE.size + BYTES_ACKED)
        attributes = attributes[-(-length // 4) * 4 :]
    return 0, 0
