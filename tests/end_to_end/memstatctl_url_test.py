#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""memstatctl reads a URL: of a memstatd that shows nothing, of other programs, with a password, and over TLS. tests/agreement compares
the figures."""
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402
from ctl import MEMSTATCTL, run  # noqa: E402


class Server:
    """A server other than memstatd, on a thread; a subclass takes each client."""

    def __init__(self, scheme="http", host="127.0.0.1"):
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.url = f"{scheme}://{host}:{self.listener.getsockname()[1]}"

    def __enter__(self):
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        return self

    def serve(self):
        while True:
            try:
                peer = self.listener.accept()[0]
            except OSError:
                return
            self.take(peer)

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.thread.join()


class Answers(Server):
    """Sends `answer` to each client and closes the connection. With a `context` it speaks TLS."""

    def __init__(self, answer, context=None):
        super().__init__(*(("https", "localhost") if context else ()))
        self.requests, self.answer, self.context = [], answer, context

    def take(self, peer):
        try:
            with self.context.wrap_socket(peer, server_side=True) if self.context else peer as client:
                self.requests.append(client.recv(65536).decode())
                client.sendall(self.answer)
        except OSError:  # the certificate was refused
            pass


class Silence(Server):
    """Accepts and never answers."""

    def __init__(self):
        super().__init__()
        self.clients = []

    def take(self, peer):
        self.clients.append(peer)

    @property
    def connections(self):
        return len(self.clients)

    def __exit__(self, *exception):
        super().__exit__(*exception)
        for client in self.clients:
            client.close()


class Terminal:
    """memstatctl with a terminal as its standard error."""

    def __init__(self, command, url):
        self.ours, theirs = os.openpty()
        self.process = subprocess.Popen([MEMSTATCTL, *command, "--from", url], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=theirs)
        os.close(theirs)

    def finish(self):
        """(status, what the terminal received)."""
        received = b""
        while True:
            try:
                piece = os.read(self.ours, 65536)
            except OSError:  # the other end is closed
                break
            if not piece:
                break
            received += piece
        os.close(self.ours)
        return self.process.wait(timeout=program.PATIENCE), received.decode()


def answer(status, body, headers=""):
    return f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\n{headers}\r\n{body}".encode()


class OfADaemon(unittest.TestCase):

    def test_a_report_that_read_nothing_is_not_a_success(self):
        with program.temporary_directory() as directory:
            capture = captures.write_capture(os.path.join(directory, "empty"), [{"fs/proc/meminfo": "MemTotal: 1000 kB\n"}])
            with program.Daemon("--replay", capture, "--polls", "1") as daemon:
                program.wait_until(lambda: daemon.request("/api/v1/types")[0] == 200, "a first poll")
                for reference in (f"http://127.0.0.1:{daemon.port}", capture):
                    for report in ("types", "limits"):
                        done = run(report, "--from", reference)
                        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
                        self.assertNotEqual(done.stderr, "")

    def test_a_wrong_password_is_not_a_missing_one(self):
        with Answers(answer(401, "")) as server:
            missing = run("types", "--from", server.url).stderr
            wrong = run("types", "--from", server.url.replace("http://", "http://me:secret@")).stderr
            self.assertIn("needs a user and a password", missing)
            self.assertIn("does not accept this user and password", wrong)
            self.assertNotIn("secret", wrong)

    def test_a_user_and_a_password_are_sent_and_never_printed(self):
        with Answers(answer(401, "")) as server:
            url = server.url.replace("http://", "http://me:secret@")
            done = run("types", "--from", url)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertNotIn("secret", done.stderr)
            self.assertIn("Authorization: Basic bWU6c2VjcmV0\r\n", server.requests[0])


class OfAnythingElse(unittest.TestCase):
    def assert_refused(self, url, *words):
        for command in ("types", "limits"):
            done = run(command, "--from", url)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertTrue(done.stderr.startswith("memstatctl: " + url), done.stderr)
            self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
            for word in words:
                self.assertIn(word, done.stderr)

    def test_nobody_listens(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        self.assert_refused(f"http://127.0.0.1:{port}", "refused", "does memstatd run there")

    def test_other_programs_and_broken_answers(self):
        for sent, word in ((b"SSH-2.0-OpenSSH_9.2\r\n", "not HTTP"), (b"", "without an answer"),
                           (answer(200, "<html>"), "not from memstatd"), (answer(404, "<html>"), "an older memstatd without this"),
                           (answer(403, ""), "key allow"), (answer(503, '{"error":"no poll has finished yet"}'), "no poll has finished"),
                           (answer(500, "{\"error\":\"\x1b[2J\"}"), "status 500"),
                           (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n{", "middle of the answer"),
                           (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n", "larger than 64 MiB")):
            with Answers(sent) as server:
                self.assert_refused(server.url, word)

    def test_the_target_of_a_redirect_is_shown_and_not_followed(self):
        with Answers(answer(302, "", "Location: https://example.org/login?\x1b[2J\r\n")) as server:
            self.assert_refused(server.url, "redirects to https://example.org/login?\\x1b[2J (status 302)", "the URL of memstatd itself")
        with Answers(answer(301, "")) as server:
            self.assert_refused(server.url, "answers with status 301")

    def test_a_server_that_hangs_is_waited_for_once_and_a_terminal_says_so(self):
        """Commands that read more than once would otherwise wait for each."""
        commands = (["leaks"], ["top", "--count", "1"], ["why"], ["events"], ["limits"], ["show", "dentry"], ["origins"], ["doctor"])
        with Silence() as server:
            running = [(command, Terminal(command, server.url)) for command in commands]
            for command, terminal in running:
                with self.subTest(command):
                    status, shown = terminal.finish()
                    self.assertEqual(status, 1, shown)
                    self.assertIn(f"waiting for {server.url}: 1 of 15 s", shown)
                    self.assertIn(f"memstatctl: {server.url}: no complete answer within 15 s", shown)
            self.assertEqual(server.connections, len(commands), "each of them asks once")
        with Silence() as server:  # which does not begin TLS either
            done = run("leaks", "--from", server.url.replace("http:", "https:"))
            self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1), done.stderr)
            self.assertEqual(server.connections, 0 if "needs libcurl" in done.stderr else 1)

    def test_a_hostile_name_is_shown_as_escapes(self):
        types = json.dumps({"generation": 1, "time": 1, "types": [{"allocator": "slab", "type": "a\x1b[2Jb", "bytes": 1}], "unlisted": []})
        with Answers(answer(200, types)) as server:
            done = run("types", "--from", server.url)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("a\\x1b[2Jb", done.stdout)


@unittest.skipUnless(shutil.which("openssl"), "openssl is not installed")
class OfHttps(unittest.TestCase):
    def test_a_certificate_is_checked(self):
        types = json.dumps({"generation": 1, "time": 1, "types": [{"allocator": "slab", "type": "dentry", "bytes": 192}], "unlisted": []})
        with program.temporary_directory() as directory:
            key, certificate = (os.path.join(directory, name) for name in ("key.pem", "certificate.pem"))
            subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                            "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate],
                           check=True, capture_output=True, timeout=program.PATIENCE)
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate, key)
            with Answers(answer(200, types), context) as server:
                url = server.url.replace("https://", "https://me:secret@")
                done = run("types", "--csv", "--from", url, environment={"SSL_CERT_FILE": certificate})
                if "needs libcurl" in done.stderr:
                    self.assertEqual((done.returncode, done.stderr.count("\n")), (1, 1))
                    self.skipTest("libcurl is not installed, as memstatctl reports")
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertIn("slab,dentry,,,192,", done.stdout)
                self.assertIn("Authorization: Basic bWU6c2VjcmV0\r\n", server.requests[0])
                done = run("types", "--from", url)
                self.assertEqual((done.returncode, done.stdout, done.stderr.count("\n")), (1, "", 1), done.stderr)
                self.assertRegex(done.stderr, "^memstatctl: https://localhost:[0-9]+: .*certificate")
                self.assertNotIn("secret", done.stderr)


if __name__ == "__main__":
    program.main()
