"""A real etcd on loopback, for tests of jobs whose nodes come and go."""

import base64
import json
import os
import shutil
import socket
import subprocess
import time
import unittest

from free_ports import free_port

ETCD = shutil.which("etcd", path=os.environ.get("PATH", "") + ":/usr/bin:/usr/local/bin")


class Etcd:
    """An etcd on loopback, with its data in a folder."""

    def __init__(self, folder):
        self.folder, self.port, self.peer_port = folder, free_port(), free_port()
        self.start()

    def start(self):
        own, peer = ("http://127.0.0.1:%d" % port for port in (self.port, self.peer_port))
        with open(self.folder / "etcd.log", "ab") as output:
            self.process = subprocess.Popen(
                [ETCD, "--data-dir", str(self.folder / "data"), "--listen-client-urls", own, "--advertise-client-urls", own,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer],
                stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=dict(os.environ, ETCD_UNSUPPORTED_ARCH="arm64"))
        if not self.answers_within(40):
            raise unittest.SkipTest("etcd does not come up: " + (self.folder / "etcd.log").read_text()[-300:])

    def answers_within(self, seconds):
        end = time.monotonic() + seconds
        while self.keys() is None:
            if time.monotonic() > end or self.process.poll() is not None:
                return False
            time.sleep(0.05)
        return True

    def keys(self):
        """What it holds below /paddle/, decoded; None without an answer."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=2) as link:
                body = json.dumps({"key": base64.b64encode(b"/paddle/").decode(), "range_end": base64.b64encode(b"/paddle0").decode()})
                link.sendall(("POST /v3/kv/range HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)).encode())
                answer = b""
                while block := link.recv(65536):
                    answer += block
            found = json.loads(answer.split(b"\r\n\r\n", 1)[1])
            return {base64.b64decode(entry["key"]).decode(): base64.b64decode(entry.get("value", "")).decode()
                    for entry in found.get("kvs", [])} if "header" in found else None
        except (OSError, ValueError, IndexError):
            return None

    def stop(self):
        self.process.kill()
        self.process.wait()
