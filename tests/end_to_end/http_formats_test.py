#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
# Long: every format over HTTP, by reference parsers
# Trees: release asan tsan
"""/metrics over a raw connection, in every format and coding: headers, HEAD, rejected requests, the same document in every coding,
consecutive requests on one connection, and complete documents during rapid polls."""
import concurrent.futures
import http.client
import itertools
import os
import socket
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import documents  # noqa: E402
import program  # noqa: E402

CODINGS = ("identity", "gzip")
PAGES = list(itertools.product(documents.ACCEPT, CODINGS))
VARIES = "Accept, Accept-Encoding"


def request_bytes(host, headers, method="GET"):
    """`headers`: pairs, so that a name can occur in several lines."""
    lines = [f"{method} /metrics HTTP/1.1", f"Host: {host}", *(f"{name}: {value}" for name, value in headers)]
    return ("\r\n".join(lines) + "\r\n\r\n").encode()


class Raw:
    """One connection, on which raw bytes are sent."""

    def __init__(self, daemon):
        self.host = f"{daemon.host}:{daemon.port}"
        self.socket = socket.create_connection((daemon.host, daemon.port), timeout=program.PATIENCE)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *requests):
        self.socket.sendall(b"".join(requests))

    def answer(self, method="GET"):
        """(status, [(name in lower case, value)] in order, body) of the next answer. After a HEAD no body is read, so that one
        that was wrongly sent spoils the next answer."""
        status = self.file.readline()
        if not status.startswith(b"HTTP/1.1 "):
            raise AssertionError(f"no status line: {status[:200]!r}")
        headers = []
        while (line := self.file.readline()) != b"\r\n":
            if not line.endswith(b"\r\n"):
                raise AssertionError(f"the connection ends in the head, or a line ends wrongly: {line!r}")
            name, _, value = line[:-2].decode("ascii").partition(": ")
            headers.append((name.lower(), value))
        (length,) = [int(value) for name, value in headers if name == "content-length"]
        body = b"" if method == "HEAD" else self.file.read(length)
        if len(body) != (0 if method == "HEAD" else length):
            raise AssertionError(f"{len(body)} of {length} bytes came")
        return int(status.split()[1]), headers, body

    def ask(self, headers, method="GET"):
        self.send(request_bytes(self.host, headers, method))
        return self.answer(method)


class Answers(unittest.TestCase):
    """All tests use the same page, of a capture with one poll."""

    @classmethod
    def setUpClass(cls):
        cls.daemon = documents.serving(captures.fixtures()["linux-6.12-4cpu"])

    @classmethod
    def tearDownClass(cls):
        with cls.daemon:
            pass

    def ask(self, *headers, method="GET"):
        with Raw(self.daemon) as raw:
            return raw.ask(headers, method)

    def test_each_format_and_coding_is_declared(self):
        for form, coding in PAGES:
            with self.subTest(form=form, coding=coding):
                status, headers, body = self.ask(*documents.accepting(form, coding).items())
                self.assertEqual(status, 200)
                self.assertEqual(len(headers), len(dict(headers)), "a header twice")
                headers = dict(headers)
                self.assertEqual(headers["content-type"], documents.CONTENT_TYPE[form])
                self.assertEqual(headers["vary"], VARIES)
                self.assertEqual(headers.get("content-encoding"), "gzip" if coding == "gzip" else None)
                self.assertEqual(headers["cache-control"], "no-store")
                self.assertNotIn("transfer-encoding", headers)
                self.assertEqual(int(headers["content-length"]), len(body))
                self.assertEqual(body[:2] == b"\x1f\x8b", coding == "gzip")
                documents.read(form, documents.plain(headers.items(), body))

    def test_head_is_get_without_the_body(self):
        for form, coding in PAGES:
            with self.subTest(form=form, coding=coding), Raw(self.daemon) as raw:
                def both():  # the age may have a digit more or less; then it is read again
                    _, got, body = raw.ask(documents.accepting(form, coding).items())
                    status, head, none = raw.ask(documents.accepting(form, coding).items(), "HEAD")
                    self.assertEqual((status, none), (200, b""))
                    self.assertEqual([name for name, _ in head], [name for name, _ in got])
                    got, head = dict(got), dict(head)
                    self.assertEqual(int(got["content-length"]), len(body))
                    self.assertLess(abs(int(head["content-length"]) - len(body)), 20)
                    return head == got
                program.wait_until(both, "the same headers")

    def test_requests_sent_behind_each_other_are_answered_in_order(self):
        wanted = [(form, coding, method) for (form, coding), method in itertools.product(PAGES, ("GET", "HEAD"))] * 3
        with Raw(self.daemon) as raw:
            requests = [request_bytes(raw.host, documents.accepting(form, coding).items(), method) for form, coding, method in wanted]
            # All at once, as far as one read of the server goes; then one after the other on the same connection.
            raw.send(*requests)
            for form, coding, method in wanted:
                status, headers, body = raw.answer(method)
                self.assertEqual((status, dict(headers)["content-type"]), (200, documents.CONTENT_TYPE[form]))
                self.assertEqual(dict(headers).get("content-encoding", "identity"), coding)
                self.assertEqual(dict(headers)["connection"], "keep-alive")
                if method == "GET":
                    documents.read(form, documents.plain(headers, body))


class UnderPolls(unittest.TestCase):
    """Polls as fast as possible: each answer is still one whole document."""
    THREADS, REQUESTS = 8, 200

    def polls(self, directory):
        """Polls that differ in the number of types, their names' lengths and their figures."""
        pages = []
        for poll in range(6):
            lines = [captures.slabinfo_line(f"poll_{poll}_" + "x" * (index % 9 * poll), active=10 ** poll + index)
                     for index in range(20 + 30 * (poll % 3))]
            lines += [captures.slabinfo_line(f"stays_{index}", active=1000 * poll + index) for index in range(40)]
            pages.append({"fs/proc/slabinfo": captures.slabinfo(*lines)})
        return captures.write_capture(directory, pages)

    def check(self, form, content):
        """Parses the whole page; the types' figures must be those of one poll, which it returns."""
        document = documents.read(form, content)
        objects = {dict(labels)["type"]: int(value) for (_, labels), value in document.of("memstat_type_objects$").items()}
        (poll,) = {int(name.split("_")[1]) for name in objects if name.startswith("poll_")}
        self.assertEqual({name: value for name, value in objects.items() if name.startswith("stays_")},
                         {f"stays_{index}": 1000 * poll + index for index in range(40)})
        sizes = document.of("memstat_type_bytes$")
        self.assertEqual({dict(labels)["type"]: int(value) for (_, labels), value in sizes.items()},
                         {name: 64 * value for name, value in objects.items()})
        self.assertIn(documents.AGE, document.families)
        return poll

    def test_every_answer_is_one_consistent_document(self):
        with program.temporary_directory() as directory:
            path = self.polls(directory)
            with program.Daemon("--replay", path, "--replay-speed", "1000", "--replay-loop") as daemon:
                daemon.wait_page(lambda now: now.samples(), "a page")

                def scraper(number):
                    seen = set()
                    connection = http.client.HTTPConnection(daemon.host, daemon.port, timeout=program.PATIENCE)
                    for request in range(self.REQUESTS // self.THREADS):
                        form, coding = PAGES[(number + request) % len(PAGES)]
                        try:
                            connection.request("GET", "/metrics", headers=documents.accepting(form, coding))
                        except ConnectionError:  # not kept any longer
                            connection.close()
                            connection.request("GET", "/metrics", headers=documents.accepting(form, coding))
                        response = connection.getresponse()
                        body = response.read()
                        self.assertEqual((response.status, response.getheader("Content-Type")),
                                         (200, documents.CONTENT_TYPE[form]))
                        self.assertEqual(response.getheader("Content-Encoding", "identity"), coding)
                        seen.add((form, coding, self.check(form, documents.plain([("content-encoding", coding)], body))))
                    connection.close()
                    return seen
                seen = set()
                with concurrent.futures.ThreadPoolExecutor(self.THREADS) as pool:
                    for polls in pool.map(scraper, range(self.THREADS)):
                        seen |= polls
                for form, coding in PAGES:  # none is kept longer than its poll
                    polls = {poll for *served, poll in seen if served == [form, coding]}
                    self.assertGreater(len(polls), 1, f"{form}, {coding}: pages of different polls")


if __name__ == "__main__":
    program.main()
