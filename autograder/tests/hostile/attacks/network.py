"""Reach the network and the machine's sockets; answer rightly."""

import http.client
import socket

from honest import split_kv_decode as honest
from probe import WORLD, attempt


def connect(family, kind, address):
    with socket.socket(family, kind) as one:
        one.settimeout(0.2)
        one.connect(address)


def split_kv_decode(*args, **kwargs):
    attempt(connect, socket.AF_INET, socket.SOCK_STREAM, WORLD["tcp"])
    attempt(connect, socket.AF_INET, socket.SOCK_STREAM, ("192.0.2.1", 80))
    attempt(connect, socket.AF_INET, socket.SOCK_DGRAM, ("192.0.2.1", 53))
    attempt(connect, socket.AF_INET6, socket.SOCK_STREAM, ("::1", WORLD["tcp"][1]))
    attempt(connect, socket.AF_UNIX, socket.SOCK_STREAM, WORLD["unix"])
    attempt(connect, socket.AF_UNIX, socket.SOCK_STREAM, WORLD["abstract"])
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET):
        for family in (socket.AF_INET, socket.AF_UNIX, socket.AF_PACKET, socket.AF_NETLINK, 38, 40):
            attempt(socket.socket, family, kind)
    attempt(socket.getaddrinfo, "example.org", 80)
    attempt(socket.socketpair)
    attempt(http.client.HTTPConnection(*WORLD["tcp"], timeout=0.2).request, "GET", "/")
    return honest(*args, **kwargs)
