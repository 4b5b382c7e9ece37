#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""The recipes of dashboards/examples/proxy in the real nginx and HAProxy: TLS 1.3 for clients with a certificate, and no others."""
import http.client
import os
import shutil
import socket
import ssl
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "support"))
import captures  # noqa: E402
import program  # noqa: E402

RECIPES = os.path.join(program.SOURCE_DIR, "dashboards", "examples", "proxy")
TLS = "/etc/memstatd/tls/"
PATH = os.environ.get("PATH", "") + ":/usr/sbin"


def find(name):
    return shutil.which(name, path=PATH)


def recipe(name, replacements):
    with open(os.path.join(RECIPES, name), encoding="utf-8") as file:
        text = file.read()
    for old, new in replacements.items():
        if old not in text:
            raise AssertionError(f"{name} does not name {old}")
        text = text.replace(old, new)
    return text


@unittest.skipUnless(find("openssl"), "openssl is not installed")
class Proxies(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.directory = cls.enterClassContext(program.temporary_directory())
        for authority in ("server", "clients", "others"):
            cls.openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-days", "2", "-subj", f"/CN={authority} authority",
                        "-addext", "keyUsage=critical,keyCertSign",  # without which Python 3.13 does not take it for an authority
                        "-keyout", cls.path(f"{authority}-ca.key"), "-out", cls.path(f"{authority}-ca.crt"))
        for name, authority in (("server", "server"), ("prometheus", "clients"), ("stranger", "others")):
            cls.openssl("req", "-new", "-newkey", "ed25519", "-nodes", "-subj", "/CN=localhost", "-addext",
                        "subjectAltName=DNS:localhost", "-keyout", cls.path(f"{name}.key"), "-out", cls.path(f"{name}.csr"))
            cls.openssl("x509", "-req", "-in", cls.path(f"{name}.csr"), "-CA", cls.path(f"{authority}-ca.crt"), "-CAkey",
                        cls.path(f"{authority}-ca.key"), "-CAcreateserial", "-days", "2", "-copy_extensions", "copy",
                        "-out", cls.path(f"{name}.crt"))
        with open(cls.path("server.pem"), "wb") as both:
            for part in ("crt", "key"):
                with open(cls.path(f"server.{part}"), "rb") as file:
                    both.write(file.read())
        capture = captures.write_capture(cls.path("capture"), [{"fs/proc/slabinfo": captures.slabinfo(
            captures.slabinfo_line("dentry", 10, 20, 192, 1, 2))}])
        captures.write_file(cls.path("memstatd.yaml"), "enable_reload: true\n")
        cls.daemon = program.Daemon("--config", cls.path("memstatd.yaml"), "--replay", capture)
        cls.addClassCleanup(cls.daemon.kill)
        cls.daemon.wait_log("the replay has ended")

    @classmethod
    def path(cls, name):
        return os.path.join(cls.directory, name)

    @staticmethod
    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=program.PATIENCE)

    def start(self, command):
        proxy = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

        def end():
            proxy.terminate()
            proxy.communicate(timeout=program.PATIENCE)
        self.addCleanup(end)
        return proxy

    def wait_for(self, proxy):
        def listens():
            if proxy.poll() is not None:
                raise AssertionError(f"the proxy ended:\n{proxy.stderr.read().decode()}")
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return True
            except OSError:
                return False
        program.wait_until(listens, "the proxy to listen")

    def replaced(self, files):
        self.port = program.free_port()
        return {"8948": str(self.port), "127.0.0.1:8947;": f"127.0.0.1:{self.daemon.port};"} | {TLS + file: self.path(file) for file in files}

    def context(self, name, most=ssl.TLSVersion.TLSv1_3):
        context = ssl.create_default_context(cafile=self.path("server-ca.crt"))
        context.maximum_version = most
        if name:
            context.load_cert_chain(self.path(f"{name}.crt"), self.path(f"{name}.key"))
        return context

    def ask(self, context, method="GET", path="/metrics", host="localhost", headers=None):
        """(status, headers, body, version of TLS) of one request."""
        connection = http.client.HTTPSConnection("localhost", self.port, timeout=program.PATIENCE, context=context)
        raw = socket.create_connection((host, self.port), timeout=program.PATIENCE)
        connection.sock = context.wrap_socket(raw, server_hostname="localhost")
        version = connection.sock.version()
        try:
            connection.request(method, path, headers=headers or {})
            response = connection.getresponse()
            return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read(), version
        finally:
            connection.close()

    def refused(self, context):
        """Whether the proxy ends the handshake, or answers without asking memstatd."""
        try:
            status, _, body, _ = self.ask(context)
        except (ssl.SSLError, ConnectionError, http.client.RemoteDisconnected):
            return True
        self.assertNotIn(b"memstat_", body)
        return status == 400

    def check(self):
        good = self.context("prometheus")
        status, _, body, version = self.ask(good)
        self.assertEqual((status, version), (200, "TLSv1.3"))
        self.assertIn(b"memstat_type_bytes{", body)
        self.assertEqual(self.ask(good, headers={"Accept-Encoding": "gzip"})[1]["content-encoding"], "gzip")
        self.assertEqual(self.ask(good, method="HEAD")[0], 200)
        self.assertEqual(self.ask(good, path="/api/v1/types")[0], 200)
        self.assertEqual(self.ask(good, method="POST", path="/-/reload")[0], 403)
        if program.has_ipv6():
            self.assertEqual(self.ask(good, host="::1")[0], 200)
        self.assertTrue(self.refused(self.context(None)), "without a certificate")
        self.assertTrue(self.refused(self.context("stranger")), "with one of another authority")
        self.assertTrue(self.refused(self.context("prometheus", most=ssl.TLSVersion.TLSv1_2)), "with TLS 1.2")
        with self.assertRaises((OSError, http.client.HTTPException, AssertionError)):
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=program.PATIENCE)
            connection.request("GET", "/metrics")
            self.assertNotEqual(connection.getresponse().status, 200, "without TLS")
            raise AssertionError
        self.assertEqual(self.ask(good)[0], 200)

    @unittest.skipUnless(find("nginx"), "nginx is not installed")
    def test_nginx(self):
        text = recipe("nginx.conf", self.replaced(("server.crt", "server.key", "clients-ca.crt")))
        if not program.has_ipv6():
            text = "".join(line for line in text.splitlines(True) if "[::]" not in line)
        temporary = "".join(f"  {kind}_temp_path {self.path(kind)};\n" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        captures.write_file(self.path("nginx.conf"), f"daemon off;\npid {self.path('nginx.pid')};\nworker_processes 1;\nevents {{}}\n"
                            f"http {{\n  access_log off;\n{temporary}{text}}}\n")
        self.wait_for(self.start([find("nginx"), "-p", self.directory, "-e", "stderr", "-c", self.path("nginx.conf")]))
        self.check()

    @unittest.skipUnless(find("haproxy"), "haproxy is not installed")
    def test_haproxy(self):
        replaced = self.replaced(("server.pem", "clients-ca.crt"))
        replaced.pop("127.0.0.1:8947;")
        replaced["server local 127.0.0.1:8947"] = f"server local 127.0.0.1:{self.daemon.port}"
        if not program.has_ipv6():
            replaced["bind :::"] = "bind :"
        text = recipe("haproxy.cfg", replaced)
        captures.write_file(self.path("haproxy.cfg"), text)
        self.wait_for(self.start([find("haproxy"), "-db", "-f", self.path("haproxy.cfg")]))
        self.check()


if __name__ == "__main__":
    program.main()
