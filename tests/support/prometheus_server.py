# SPDX-License-Identifier: BSD-2-Clause
"""Debian's Prometheus and promtool for the end-to-end tests, and a relay that reports what Prometheus and memstatd negotiated."""
import http.server
import json
import os
import shutil
import subprocess
import threading
import unittest
import urllib.parse
import urllib.request

import program

needs_promtool = unittest.skipUnless(shutil.which("promtool"), "promtool is not installed (Debian package prometheus)")
needs_victoria = unittest.skipUnless(shutil.which("victoria-metrics"), "victoria-metrics is not installed (Debian package victoria-metrics)")
needs_prometheus = unittest.skipUnless(shutil.which("prometheus"), "prometheus is not installed (Debian package prometheus)")
# A scrape takes milliseconds, and on a busy machine may take a second.
CONFIG = """global:
  scrape_interval: 5s
  scrape_timeout: 5s
scrape_configs:
  - job_name: memstatd
    static_configs:
      - targets: ["{target}"]
"""


class LoopbackServer:
    """A program that serves HTTP on its own port, which `command(address)` starts in `directory`."""

    def __init__(self, name, directory, config, command):
        self.name, self.log_path = name, os.path.join(directory, name + ".log")
        with open(os.path.join(directory, name + ".yml"), "w", encoding="utf-8") as file:
            file.write(config)
        for _ in range(5):  # another program may take the port between our check and its bind
            self.address = f"127.0.0.1:{program.free_port()}"
            with open(self.log_path, "wb") as log:
                self.process = subprocess.Popen(command(self.address), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                                                cwd=directory)
            try:
                program.wait_until(lambda: self.process.poll() is not None or self.is_ready(), self.log)
            except BaseException:
                self.stop()
                raise
            if self.process.poll() is None:
                return
        raise AssertionError(f"{name} does not start:\n" + self.log())

    def whole_log(self):
        with open(self.log_path, encoding="utf-8", errors="replace") as file:
            return file.read()

    def log(self):
        return f"the log of {self.name}:\n" + self.whole_log()[-8000:]

    def get(self, path):
        with urllib.request.urlopen(f"http://{self.address}{path}", timeout=program.PATIENCE) as response:
            return response.read()

    def is_ready(self):
        try:
            return bool(self.get("/-/ready"))
        except OSError:
            return False

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
            try:
                return self.process.wait(program.PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
        return self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Prometheus(LoopbackServer):
    """A Prometheus server on loopback that keeps its data in `directory`. `config`: the whole configuration, instead of one that
    scrapes `target`."""

    def __init__(self, directory, target, *arguments, config=None):
        storage = "agent" if "--enable-feature=agent" in arguments else "tsdb"
        super().__init__("prometheus", directory, config or CONFIG.format(target=target), lambda address: [
            "prometheus", f"--config.file={directory}/prometheus.yml", f"--storage.{storage}.path={directory}/data",
            f"--web.listen-address={address}", "--web.max-connections=16", *arguments])

    def api(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        answer = json.loads(self.get(f"/api/v1/{path}{query}"))
        if answer["status"] != "success":
            raise AssertionError(answer)
        return answer["data"]

    def query(self, expression):
        """[(labels, value)] of an instant query."""
        return [(entry["metric"], float(entry["value"][1])) for entry in self.api("query", query=expression)["result"]]


class VictoriaMetrics(LoopbackServer):
    """A single-node VictoriaMetrics on loopback. `config`: of Prometheus, for what it scrapes; "": nothing."""

    def __init__(self, directory, config=""):
        scraping = [f"-promscrape.config={directory}/victoria-metrics.yml"] if config else []
        super().__init__("victoria-metrics", directory, config, lambda address: [
            "victoria-metrics", f"-storageDataPath={directory}/victoria", f"-httpListenAddr={address}", "-retentionPeriod=1y",
            "-search.latencyOffset=0s", "-search.disableCache", *scraping])

    def load(self, text):
        """Stores samples in OpenMetrics, whose timestamps are seconds."""
        lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
        body = "".join(f"{sample} {int(seconds) * 1000}\n" for sample, _, seconds in lines).encode()
        urllib.request.urlopen(f"http://{self.address}/api/v1/import/prometheus", data=body, timeout=program.PATIENCE).close()
        self.get("/internal/force_flush")


def lint(content, what):
    """promtool accepts a text page."""
    done = subprocess.run(["promtool", "check", "metrics"], input=content, capture_output=True, timeout=program.PATIENCE,
                          check=False)
    if (done.returncode, done.stdout, done.stderr) != (0, b"", b""):
        raise AssertionError(f"{what}: {done}")


class Served:
    """Serves HTTP on a port of its own by `answer(request)`, which writes the answer, while the block runs."""

    def __init__(self, answer):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                answer(self)

            do_POST = do_GET

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *_: None  # a client that went away
        self.address = "127.0.0.1:{}".format(self.server.server_address[1])
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def send(request, body=b"", headers=()):
    """Status 200 with these headers and this body."""
    request.send_response_only(200)
    for name, value in (*headers, ("Content-Length", len(body))):
        request.send_header(name, value)
    request.end_headers()
    request.wfile.write(body)


class Relay(Served):
    """Passes scrapes on to memstatd and its answers back, byte for byte, and keeps both. `accept`: what is asked for instead of
    what the scraper asks for, since Prometheus 2.42 cannot be told which format it is to want."""

    def __init__(self, daemon, accept=None):
        super().__init__(self.relay)
        self.daemon, self.accept = daemon, accept
        self.passed = []  # (the scraper's headers, the answer's headers, its body)

    def relay(self, request):
        asked = {name.lower(): value for name, value in request.headers.items()}
        wanted = {"Accept": self.accept or asked.get("accept", ""), "Accept-Encoding": asked.get("accept-encoding", "identity")}
        status, headers, body = self.daemon.request(request.path, headers=wanted)
        request.send_response_only(status)
        for name, value in headers.items():
            if name != "connection":
                request.send_header(name, value)
        request.end_headers()
        request.wfile.write(body)
        self.passed.append((asked, headers, body))
