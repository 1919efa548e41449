"""Elastic jobs whose etcd asks for TLS, for certificates of its clients, and for a password: the variables of etcdctl."""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import launch
from etcd import ETCD, Etcd
from launch_elastic_test import DRYDOCK, TRAIN, TTL

OPENSSL = shutil.which("openssl")
REASON = "" if ETCD and OPENSSL else "there is no etcd or openssl (packages etcd-server, openssl)"


def make_certificates(folder):
    """An authority, a server of 127.0.0.1, a client; and an authority of somebody else."""
    def run(*words):
        subprocess.run([OPENSSL, *words], cwd=folder, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL)
    for name in ("ca", "other"):
        run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key",
            "-subj", "/CN=" + name, "-days", "2", "-out", name + ".pem", "-addext", "basicConstraints=critical,CA:true")
    for name, address in (("server", "127.0.0.1"), ("elsewhere", "127.0.0.9"), ("client", "127.0.0.1")):
        (folder / "ext").write_text("subjectAltName=IP:%s\nextendedKeyUsage=serverAuth,clientAuth\n" % address)
        run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", name + ".key", "-subj", "/",
            "-out", name + ".csr")
        run("x509", "-req", "-in", name + ".csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
            "-extfile", "ext", "-out", name + ".pem")


class SecureEtcd(Etcd):
    """Plain for the test, TLS for the job."""

    def __init__(self, folder, certificate, *flags):
        self.tls_port, self.certificate, self.flags = launch.free_port(), certificate, flags
        super().__init__(folder)

    def start(self):
        plain, peer = ("http://127.0.0.1:%d" % port for port in (self.port, self.peer_port))
        urls = plain + ",https://127.0.0.1:%d" % self.tls_port
        with open(self.folder / "etcd.log", "ab") as output:
            self.process = subprocess.Popen(
                [ETCD, "--data-dir", str(self.folder / "data"), "--listen-client-urls", urls, "--advertise-client-urls", plain,
                 "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer, "--initial-cluster", "default=" + peer,
                 "--cert-file", self.certificate + ".pem", "--key-file", self.certificate + ".key", *self.flags],
                cwd=self.folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        if not self.answers_within(40):
            raise unittest.SkipTest("etcd does not come up: " + (self.folder / "etcd.log").read_text()[-300:])

    def ask(self, path, body):
        text = json.dumps(body)
        with socket.create_connection(("127.0.0.1", self.port), timeout=5) as link:
            link.sendall(("POST /v3/%s HTTP/1.0\r\nContent-Length: %d\r\n\r\n%s" % (path, len(text), text)).encode())
            answer = b""
            while block := link.recv(65536):
                answer += block
        assert b" 200 OK" in answer.split(b"\r\n", 1)[0], answer

    def ask_for_password(self):
        self.ask("auth/user/add", {"name": "root", "password": "a secret"})
        self.ask("auth/role/add", {"name": "root"})
        self.ask("auth/user/grant", {"user": "root", "role": "root"})
        self.ask("auth/enable", {})


@unittest.skipIf(REASON, REASON)
class SecureEtcdTest(launch.LaunchTest):
    def etcd(self, certificate="server", *flags):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder, ignore_errors=True)
        make_certificates(folder)
        etcd = SecureEtcd(folder, certificate, *flags)
        self.addCleanup(etcd.stop)
        return etcd

    def run_node(self, server, **variables):
        """A job of one node, to its end."""
        self.write("train.py", TRAIN % "")
        self.write("done", "")
        words = [DRYDOCK, "paddle-launch", "--python=" + sys.executable, "--elastic_server=" + server, "--job_id=" + self.mark,
                 "--np=1", "--host=127.0.0.2", "--log_dir=out", "--nproc_per_node=1",
                 "--master_port=%d" % launch.free_port(64), "train.py"]
        done = subprocess.run(words, cwd=self.folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=launch.SECONDS,
                              env=self.variables(PADDLE_ELASTIC_TTL=str(TTL), PADDLE_ELASTIC_TIMEOUT="1", **variables), check=False)
        self.assertEqual(self.marked(), [], done.stderr)
        self.assertNotIn("a secret", done.stdout + done.stderr)
        return done.returncode, done.stderr

    def assert_works(self, server, **variables):
        status, err = self.run_node(server, **variables)
        self.assertEqual(status, 0, err)
        self.assertIn("ROUND 1 0 1", self.log("out/workerlog.0"))

    def assert_refused(self, text, server, status=4, **variables):
        found, err = self.run_node(server, **variables)
        lines = [line for line in err.splitlines() if "error[" in line]
        self.assertEqual((found, len(lines)), (status, 1), err)
        self.assertIn(text, lines[0])

    def test_tls(self):
        etcd = self.etcd()
        own = str(etcd.folder / "ca.pem")
        server = "https://127.0.0.1:%d" % etcd.tls_port
        self.assert_works(server, ETCDCTL_CACERT=own)
        self.assert_works("127.0.0.1:%d" % etcd.tls_port, ETCDCTL_CACERT=own)
        self.assert_works("http://127.0.0.1:%d" % etcd.port)
        self.assert_refused("its certificate: ", server, ETCDCTL_CACERT=str(etcd.folder / "other.pem"))
        self.assert_refused("its certificate: ", server)  # no authority of the system has made it
        self.assert_refused("ETCDCTL_CACERT=missing.pem: ", server, status=3, ETCDCTL_CACERT="missing.pem")
        os.mkfifo(self.folder / "pipe")
        self.assert_refused("is a special file", server, status=3, ETCDCTL_CACERT="pipe")
        self.assert_refused("ETCDCTL_CERT and ETCDCTL_KEY only one", server, status=2, ETCDCTL_CERT=own)
        self.assert_refused("ETCDCTL_KEY=train.py: ", server, status=3, ETCDCTL_CERT=own, ETCDCTL_KEY="train.py")

    def test_plain_words_to_a_tls_port(self):
        etcd = self.etcd()
        self.assert_refused("--elastic_server=https://", "127.0.0.1:%d" % etcd.tls_port)

    def test_certificate_of_another_address(self):
        etcd = self.etcd("elsewhere")
        self.assert_refused("its certificate: ", "https://127.0.0.1:%d" % etcd.tls_port, ETCDCTL_CACERT=str(etcd.folder / "ca.pem"))

    def test_certificates_of_clients(self):
        etcd = self.etcd("server", "--trusted-ca-file", "ca.pem", "--client-cert-auth")
        server = "https://127.0.0.1:%d" % etcd.tls_port
        own = {"ETCDCTL_CACERT": str(etcd.folder / "ca.pem")}
        self.assert_works(server, **own, ETCDCTL_CERT=str(etcd.folder / "client.pem"), ETCDCTL_KEY=str(etcd.folder / "client.key"))
        self.assert_refused("etcd at 127.0.0.1:%d: " % etcd.tls_port, server, **own)

    def test_password(self):
        etcd = self.etcd()
        etcd.ask_for_password()
        plain = "127.0.0.1:%d" % etcd.port
        self.assert_works(plain, ETCDCTL_USER="root:a secret")
        self.assert_works(plain, ETCDCTL_USER="root", ETCDCTL_PASSWORD="a secret")
        self.assert_works("https://127.0.0.1:%d" % etcd.tls_port, ETCDCTL_CACERT=str(etcd.folder / "ca.pem"), ETCDCTL_USER="root:a secret")
        self.assert_refused("set ETCDCTL_USER=name:password", plain)
        self.assert_refused("authentication failed", plain, ETCDCTL_USER="root:wrong")
        self.assert_refused("only one is set", plain, status=2, ETCDCTL_USER="root")

    def test_addresses_that_are_none(self):
        for server in ("ftp://127.0.0.1:2379", "https://127.0.0.1", "a:1,b:2", "127.0.0.1:0", "https://:2379", "127.0.0.1:2379/x"):
            self.assert_refused("argument --elastic_server: ", server, status=2)
        self.assert_refused("argument --elastic_server: 'nobody.invalid'", "https://nobody.invalid:2379", status=3)


if __name__ == "__main__":
    unittest.main()
