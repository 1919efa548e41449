"""Jobs that cannot start: one line with a code and a hint, and no process before it."""

import os
import resource
import socket
import subprocess
import sys
import unittest

import command
import launch


class RefusedTest(launch.LaunchTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", "print('must not run')\n")

    def refuse(self, status, code, *arguments, ranks=2, join=True):
        run = self.launch(ranks, *arguments, join=join)
        self.assert_refused(run, status, code)
        return run

    def test_r01_port_in_use(self):
        for state in ("listening", "waiting"):
            with self.subTest(state), socket.socket() as holder:
                holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as launchers do
                port = launch.free_port()
                holder.bind(("127.0.0.1", port))
                holder.listen()
                if state == "waiting":
                    self.leave_in_time_wait(holder)
                    self.assertEqual(self.launch(1, "--master_port=%d" % port, "net.py").status, 0)
                    continue
                run = self.refuse(3, "PORT_IN_USE", "--master_port=%d" % port, "net.py")
                self.assertIn("127.0.0.1:%d" % port, run.err)
                self.assertIn(str(os.getpid()), run.err)
                self.assertIn("--master_port", run.err)

    @staticmethod
    def leave_in_time_wait(listener):
        """The side that closes first keeps the port in TIME_WAIT."""
        with socket.create_connection(listener.getsockname()) as client:
            server, _ = listener.accept()
            server.close()
            client.recv(1)
        listener.close()

    def test_r01_port_held_at_another_address(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.2", 0))
            holder.listen()
            self.assertEqual(self.launch(1, "--master_port=%d" % holder.getsockname()[1], "net.py").status, 0)

    def test_r02_port_out_of_range(self):
        self.refuse(2, "PORT_RANGE", "--master_port=80", "net.py")
        self.refuse(2, "PORT_RANGE", "--master_port=70000", "net.py")
        self.refuse(2, "USAGE", "--master_port=many", "net.py")

    def test_r03_name_that_cannot_be_resolved(self):
        # No query leaves the machine: an empty label is refused by the resolver itself.
        run = self.refuse(3, "RESOLVE", "--master_addr=no..name", "net.py")
        self.assertIn("no..name", run.err)

    def test_r08_ipv6_where_workers_register(self):
        for address in ("::1", "[::1]"):
            self.refuse(2, "IPV6_UNSUPPORTED", "--rendezvous=worker", "--master_addr=" + address, "net.py")
        self.refuse(3, "RESOLVE", "--master_addr=[::1", "net.py")
        self.refuse(3, "RESOLVE", "--rendezvous=launcher", "--master_addr=fe80::1%no-such-card", "net.py")

    def test_r08_ipv6_where_launchers_agree(self):
        self.write("show.py", "import os\nprint(os.environ['MASTER_ADDR'])\n")
        run = self.launch(1, "--rendezvous=launcher", "--master_addr=[::1]", "show.py")
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.log("worker_0.log"), "::1\n")

    def test_r43_tls_material(self):
        self.write("tls.json", '{"server_cert_path":"no.p12","client_cert_path":"no.p12","ca_cert_path":"no.pem",'
                               '"cipher_list":"ECDHE-RSA-AES128-GCM-SHA256"}')
        self.write("password", "secret\n")
        for join in (True, False):
            worker = ["--rendezvous=worker", "--tls_password_file=password"]
            self.refuse(3, "TLS_MATERIAL", "--tls_config=missing.json", *worker, "net.py", join=join)
            run = self.refuse(3, "TLS_MATERIAL", "--tls_config=tls.json", *worker, "net.py", join=join)
            self.assertIn("no.p12", run.err)
        self.refuse(3, "TLS_MATERIAL", "--tls_config=tls.json", "net.py")
        self.refuse(2, "USAGE", "--tls_password_file=password", "net.py")

    def test_r65_release_that_is_none(self):
        self.refuse(2, "USAGE", "--mindspore_release=newest", "net.py")

    def test_r48_log_folder_that_cannot_be_used(self):
        self.refuse(3, "LOG_DIR", "--log_dir=net.py/logs", "net.py")
        self.refuse(3, "LOG_DIR", "--log_dir=/proc/drydock", "net.py")

    def test_r48_log_folder_is_made_with_its_parents(self):
        self.assertEqual(self.launch(1, "--log_dir=a/b c/d", "net.py").status, 0)
        self.assertIn("worker_0.log", self.files("a/b c/d"))
        self.assertEqual((self.folder / "a").stat().st_mode & 0o777, 0o700)

    def test_r50_log_that_is_a_folder(self):
        (self.folder / "out").mkdir()
        (self.folder / "out/worker_1.log").mkdir()
        self.refuse(3, "LOG_DIR", "--log_dir=out", "net.py")

    def test_r50_link_in_a_folder_of_everybody(self):
        (self.folder / "out").mkdir()
        os.chmod(self.folder / "out", 0o777)
        os.symlink(self.folder / "net.py", self.folder / "out/worker_0.log")
        self.refuse(3, "LOG_DIR", "--log_dir=out", "net.py")
        self.assertEqual((self.folder / "net.py").read_text(), "print('must not run')\n")

    def test_r50_old_log_is_replaced(self):
        self.write("worker_0.log", "old\n" * 1000)
        self.assertEqual(self.launch(1, "net.py").status, 0)
        self.assertEqual(self.log("worker_0.log"), "must not run\n")

    def test_log_folder_that_is_a_link_to_nowhere_jobs10(self):
        (self.folder / "dangling").symlink_to("nowhere")
        run = self.refuse(3, "LOG_DIR", "--log_dir=dangling", "net.py")
        self.assertIn("dangling: is a link to nowhere, which does not exist", run.err)

    def test_r62_too_few_descriptors(self):
        run = self.limited()
        self.assert_refused(run, 3, "NOFILE")
        # 4 for each of 500 ranks and 64 others.
        self.assertRegex(run.err, r"need 2064 have 256")

    def limited(self):
        done = subprocess.run(self.words(500, "--rendezvous=launcher", "net.py"), cwd=self.folder,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.variables(),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        return command.Run(done.returncode, done.stdout.decode(), done.stderr.decode())

    def test_r63_script_that_cannot_be_read(self):
        run = self.refuse(3, "NO_SCRIPT", "missing.py")
        self.assertIn("No such file", run.err)
        (self.folder / "folder").mkdir()
        self.refuse(3, "NO_SCRIPT", "./folder")
        os.mkfifo(self.folder / "pipe.py")
        self.refuse(3, "NO_SCRIPT", "pipe.py")

    def test_r63_pipe_in_a_dry_run(self):
        """`msrun --sim_level=1 <(cat net.py)`: it would have to be read more than once."""
        os.mkfifo(self.folder / "pipe.py")  # nobody writes: who reads it waits for ever
        run = self.msrun("--worker_num=2", "pipe.py")
        self.assert_refused(run, 3, "NO_SCRIPT")
        self.assertIn("the script may be read more than once", run.err)

    def test_r63_no_interpreter(self):
        self.refuse(3, "NO_INTERPRETER", "--python=no-such-python", "net.py")

    def test_r65_counts(self):
        for flags in (["--worker_num=0"], ["--worker_num=2", "--local_worker_num=4"],
                      ["--worker_num=4", "--local_worker_num=0"],
                      ["--worker_num=4", "--local_worker_num=2", "--node_rank=2"],
                      ["--worker_num=4", "--local_worker_num=2", "--node_rank=-3"]):
            with self.subTest(flags):
                self.refuse(2, "USAGE", *flags, "net.py", ranks=0)

    def test_r65_flags_that_make_no_sense(self):
        for flag in ("--tail_worker_log=2", "--tail_worker_log=x", "--sim_rank_id=0", "--rendezvous=maybe",
                     "--grace=-1", "--join=perhaps", "--bind_core=maybe", "--wroker_num=2"):
            with self.subTest(flag):
                self.refuse(2, "USAGE", flag, "net.py")
        self.refuse(2, "PORT_RANGE", "--script_port=5", "net.py")

    def test_r66_two_launchers_in_one_folder(self):
        self.write("wait.py", "import time\nprint('started', flush=True)\ntime.sleep(600)\n")
        first = self.begin(1, "--rendezvous=launcher", "--log_dir=out", "wait.py")
        self.wait_for_logs(1, "started", "out")
        done = self.words(1, "--rendezvous=launcher", "--log_dir=out", "net.py")
        second = subprocess.run(done, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env=self.variables(), timeout=launch.SECONDS)
        self.assertEqual(second.returncode, 3, second.stderr)
        self.assertIn(b"error[LOG_DIR]", second.stderr)
        self.assertIn("started", self.log("out/worker_0.log"))
        self.assertIsNone(first.poll())
        first.terminate()
        first.wait(launch.SECONDS)

    def test_r66_lock_of_a_killed_launcher_does_not_count(self):
        self.write("wait.py", "import time\nprint('started', flush=True)\ntime.sleep(600)\n")
        first = self.begin(1, "--rendezvous=launcher", "--log_dir=out", "wait.py")
        self.wait_for_logs(1, "started", "out")
        first.kill()
        first.wait(launch.SECONDS)
        # At once: its second process may be about to end, which is waited for.
        self.assertEqual(self.launch(1, "--rendezvous=launcher", "--log_dir=out", "net.py").status, 0)

    def test_g10_odd_names(self):
        name = "a b;$(touch x)'\"\n\udcff.py"
        with open(os.path.join(os.fsencode(self.folder), os.fsencode(name)), "w") as file:
            file.write("print('odd')\n")
        run = self.launch(1, "--log_dir=l'o g;$(touch x)", name)
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual(self.log("l'o g;$(touch x)/worker_0.log"), "odd\n")
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
