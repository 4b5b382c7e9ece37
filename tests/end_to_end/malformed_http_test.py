#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Trees: release asan
"""Each request in tests/fixtures/requests/malformed.txt gets the answer given there, whatever other clients send."""
import concurrent.futures
import os
import re
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

TABLE = os.path.join(program.SOURCE_DIR, "tests", "fixtures", "requests", "malformed.txt")
ESCAPES = {b"r": b"\r", b"n": b"\n", b"t": b"\t", b"0": b"\0", b"\\": b"\\"}


def unescape(text, port=b""):
    def one(match):
        escape = match.group(1)
        if escape.startswith(b"x"):
            return bytes([int(escape[1:], 16)])
        if escape.startswith(b"("):
            repeated, count = escape[1:-1].rsplit(b"*", 1)
            return unescape(repeated) * int(count)
        return port if escape == b"p" else ESCAPES[escape]
    return re.sub(rb"\\(x[0-9a-f]{2}|\((?:[^\\)]|\\.)+\*\d+\)|.)", one, text)


def cases(port):
    """(line of the table, statuses wanted, bytes, why) of each."""
    with open(TABLE, "rb") as file:
        for number, line in enumerate(file.read().splitlines(), 1):
            if line and not line.startswith(b"#"):
                wanted, request, why = line.split(b"\t")
                yield number, wanted.decode(), unescape(request, str(port).encode()), why.decode()


def statuses(answer):
    """The statuses of the received answers: "200,404"; "close" if there were none. An answer to HEAD lacks the body that it announces."""
    found = []
    while answer:
        head, _, rest = answer.partition(b"\r\n\r\n")
        status = re.match(rb"HTTP/1\.1 (\d{3}) [A-Z]", head)
        length = re.search(rb"\r\nContent-Length: (\d+)\r?", head)
        if not status or not length:
            return f"no answer: {answer[:80]!r}"
        found.append(status.group(1).decode())
        answer = rest[int(length.group(1)):]
    return ",".join(found) or "close"


def ask(address, request):
    """The answer to these bytes, with nothing after them, until the server closes."""
    with socket.create_connection(address, timeout=program.PATIENCE) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # refused before all was sent
        answer = b""
        try:
            while True:
                piece = connection.recv(65536)
                if not piece:
                    return statuses(answer)
                answer += piece
        except ConnectionResetError:
            return statuses(answer)


def descriptors_of(pid):
    """What each descriptor is, as /proc names it."""
    links = []
    for name in os.listdir(f"/proc/{pid}/fd"):
        try:
            links.append(os.readlink(f"/proc/{pid}/fd/{name}"))
        except FileNotFoundError:
            pass  # closed meanwhile
    return links


def files_of(pid):
    """Descriptors that are not sockets: pairs of sockets to workers come and go with connections."""
    return sorted(link for link in descriptors_of(pid) if not link.startswith("socket:"))


def connections_of(pid):
    """TCP connections that the process holds, without its listener."""
    with open(f"/proc/{pid}/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    connected = {f"socket:[{row[9]}]" for row in rows if row[3] != "0A"}
    return sum(link in connected for link in descriptors_of(pid))


class MalformedHttp(unittest.TestCase):
    maxDiff = None

    def test_each_gets_its_answer_and_none_leaves_anything_behind(self):
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "capture"), [{"fs/proc/slabinfo": captures.slabinfo(
                captures.slabinfo_line("dentry", 10, 20, 192, 1, 2))}])
            with program.Daemon("--replay", capture) as daemon:
                daemon.wait_log("the replay has ended")
                address = (daemon.host, daemon.port)
                table = list(cases(daemon.port))
                self.assertGreaterEqual(len({request for _, _, request, _ in table}), 400)
                self.assertEqual(len({request for _, _, request, _ in table}), len(table), "none is listed twice")

                ask(address, table[0][2])
                before = files_of(daemon.process.pid)
                with concurrent.futures.ThreadPoolExecutor(8) as pool:
                    got = list(pool.map(lambda case: ask(address, case[2]), table))
                wrong = [f"line {number}: {why}: got {answer}, wanted {wanted}" for (number, wanted, _, why), answer in
                         zip(table, got) if answer != wanted]
                self.assertEqual(wrong, [])
                program.wait_until(lambda: connections_of(daemon.process.pid) == 0, "the connections to be closed")
                self.assertEqual(files_of(daemon.process.pid), before)
                daemon.page()


if __name__ == "__main__":
    program.main()
