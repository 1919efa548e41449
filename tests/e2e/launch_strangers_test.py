"""What others on the machine or the network can do to a job: links, special files, floods, schedulers that stay. The
smallest inputs of a review; names end in its findings."""

import os
import socket
import stat
import struct
import subprocess
import time
import unittest
from pathlib import Path

import command
import launch

DRYDOCK = str(Path(command.MSRUN).with_name("drydock"))
STRANGER = "127.0.0.9"
REGISTRATION, HEARTBEAT, FAILURE = b"0", b"2", "drydock_failure"


def text_field(number, value):
    value = value.encode() if isinstance(value, str) else value
    size = len(value)
    head = bytes([number << 3 | 2])
    while size >= 128:
        head, size = head + bytes([size & 127 | 128]), size >> 7
    return head + bytes([size]) + value


def frame(name, body):
    return b"RPC0" + struct.pack(">IIII", len(name), 2, 1, len(body)) + name + b"@h@" + body


def registration(node_id, address):
    return frame(REGISTRATION, text_field(1, node_id) + text_field(2, "host") + text_field(3, "MS_WORKER") +
                 text_field(4, address))


def connect(port, source):
    return socket.create_connection(("127.0.0.1", port), timeout=60, source_address=(source, 0))


class StrangersTest(launch.LaunchTest):
    def open_folder(self, victim_of):
        """A folder that others can write to, with a link of theirs to a file of ours."""
        folder = self.folder / "open"
        folder.mkdir()
        self.write("victim", "precious\n")
        (folder / victim_of).symlink_to(self.folder / "victim")
        folder.chmod(0o777)
        return folder

    def scheduler(self, *flags, **variables):
        process = subprocess.Popen([DRYDOCK, "scheduler", "--host=127.0.0.1", "--port=0", *flags], cwd=self.folder,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   env=self.variables(**variables))
        self.addCleanup(self.finish, process)
        return process

    def served(self, *flags, **variables):
        """A scheduler that listens, and its port."""
        process = self.scheduler(*flags, **variables)
        line = process.stdout.readline()
        self.assertIn("listening at", line)
        return process, int(line.rsplit(":", 1)[1])

    def test_links_of_the_status_file_are_not_followed_by_the_guard_jobs4(self):
        folder = self.open_folder("other")
        process = self.begin(1, "--log_dir=open", "--rendezvous=launcher", "bash", "-c", "echo up; exec sleep 60")
        self.wait_for_logs(1, "up", "open")
        (folder / "msrun_status.json").symlink_to(self.folder / "victim")
        process.kill()
        self.assertTrue(launch.wait_until(lambda: not self.marked()), "the guard did not end the job")
        self.assertEqual(self.log("victim"), "precious\n")

    def test_links_of_logs_of_restarted_ranks_are_not_followed_jobs4(self):
        self.open_folder("worker_0.r1.log")
        run = self.launch(1, "--log_dir=open", "--rendezvous=launcher", "--max_restarts=1", "bash", "-c", "echo wrong; exit 1")
        self.assertEqual(self.log("victim"), "precious\n")
        self.assertEqual(run.status, 1, run.err)
        self.assertIn("rank 0 could not be started again", run.err)
        self.assertIn("is a link in a folder that others can write to", run.err)

    def test_links_of_scheduler_logs_are_not_followed_jobs4(self):
        self.open_folder("scheduler.log")
        process = self.scheduler("--worker_num=1", "--log_dir=open")
        _, err = process.communicate(timeout=launch.SECONDS)
        self.assertEqual((process.returncode, self.log("victim")), (3, "precious\n"))
        self.assertIn("is a link in a folder that others can write to", err)

    def test_logs_are_their_users_alone(self):
        self.assertEqual(self.launch(1, "--log_dir=out", "--rendezvous=launcher", "true").status, 0)
        self.assertEqual(stat.S_IMODE(os.stat(self.folder / "out/worker_0.log").st_mode), 0o600)

    def test_special_files_are_refused_at_once_jobs15(self):
        for name in ("recovery.dat", "table"):
            os.mkfifo(self.folder / name)
        for variables in ({"MS_ENABLE_RECOVERY": "1", "MS_RECOVERY_PATH": str(self.folder)}, {"RANK_TABLE_FILE": "table"}):
            process = self.scheduler("--worker_num=1", **variables)
            _, err = process.communicate(timeout=launch.SECONDS)
            self.assertIn(process.returncode, (2, 3))
            self.assertIn("is a special file", err)

    def test_scheduler_of_a_job_that_died_does_not_stay_jobs3(self):
        """The second run of the same command starts."""
        port = launch.free_port()
        for _ in (0, 1):
            run = self.launch(2, "--master_port=%d" % port, "--rendezvous=worker", "bash", "-c", "exit 1", join=False)
            self.assertEqual(run.status, 0, run.err)
            self.assertTrue(launch.wait_until(lambda: not self.marked()), "the scheduler stayed")

    def test_speaking_flood_gives_way_to_members_jobs5(self):
        """8 x 2 + 64 connections that each sent one valid frame; then members come."""
        _, port = self.served("--worker_num=2", "--log_dir=out")
        flood = []
        for _ in range(200):
            try:
                flood.append(connect(port, STRANGER))
                flood[-1].sendall(frame(HEARTBEAT, text_field(1, "nobody")))
            except OSError:
                break  # made to give way
        members = [connect(port, "127.0.0.1") for _ in range(4)]
        for rank in (0, 1):
            members[rank].sendall(registration(str(rank), "127.0.0.1"))
            self.assertTrue(members[rank].recv(100).startswith(b"RPC0"), "the member was closed")
        for each in flood + members:
            each.close()

    def test_scheduler_log_grows_slowly_whatever_one_connection_says_jobs7(self):
        _, port = self.served("--worker_num=2", "--log_dir=out")
        with connect(port, STRANGER) as stranger:
            batch = registration("x" * 200, STRANGER) * 200
            stranger.sendall(registration("0", STRANGER) + registration("1", STRANGER))
            begin = time.monotonic()
            stranger.settimeout(60)
            while time.monotonic() < begin + 2:
                stranger.sendall(batch)
                stranger.recv(1 << 20)
        # 20 lines of some 500 bytes a second.
        self.assertLess(os.stat(self.folder / "out/scheduler.log").st_size, 80_000 + 10_000 * (time.monotonic() - begin))
        self.assertIn("further registrations were refused", self.log("out/scheduler.log"))

    def test_launchers_need_the_jobs_secret_jobs6(self):
        self.write("secret", "0123456789abcdef0123456789abcdef\n")
        os.chmod(self.folder / "secret", 0o600)
        _, port = self.served("--worker_num=2", "--job_secret=secret", "--log_dir=out")
        with connect(port, "127.0.0.1") as stranger:
            stranger.sendall(frame(b"6", text_field(1, FAILURE) + text_field(2, "killed")) +
                             frame(b"7", text_field(1, FAILURE)))
            self.assertNotIn(b"killed", stranger.recv(1000))
        os.chmod(self.folder / "secret", 0o644)
        process = self.scheduler("--worker_num=2", "--job_secret=secret")
        _, err = process.communicate(timeout=launch.SECONDS)
        self.assertEqual(process.returncode, 2)
        self.assertIn("can be read by others", err)

    def test_secret_is_not_handed_to_ranks_nor_printed(self):
        run = self.launch(1, "--rendezvous=launcher", "--verbose", "env", DRYDOCK_JOB_SECRET="0123456789abcdef")
        self.assertEqual(run.status, 0, run.err)
        self.assertNotIn("0123456789abcdef", run.out + run.err + self.log("worker_0.log"))


if __name__ == "__main__":
    unittest.main()
