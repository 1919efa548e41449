"""Jobs over two nodes, each a network namespace of its own."""

import re
import shlex
import shutil
import subprocess
import sys
import unittest
from pathlib import Path

import command
import launch
import launch_torch_test

SCRIPT = Path(__file__).with_name("two_nodes.sh")
SHOW = "import os\nprint(*(os.environ.get(name) for name in %r), flush=True)\n"


def reason_without_namespaces():
    if not shutil.which("ip") or not shutil.which("unshare"):
        return "there is no ip or unshare (packages iproute2, util-linux)"
    tried = subprocess.run([SCRIPT, "true", "true"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True, check=False)
    return "" if "statuses 0 0" in tried.stdout else "no network namespaces: " + tried.stdout.strip()[-200:]


REASON = reason_without_namespaces()


@unittest.skipIf(REASON, REASON)
class TwoNodesTest(launch.LaunchTest):
    def node(self, node_rank, *arguments, ranks=4, local=2, python=sys.executable):
        flags = ["--worker_num=%d" % ranks, "--local_worker_num=%d" % local, "--master_addr=10.77.0.1",
                 "--join=True", "--python=" + python, "--log_dir=node%d" % max(0, node_rank)]
        if node_rank >= 0:
            flags.append("--node_rank=%d" % node_rank)
        return shlex.join([command.MSRUN, *flags, *map(str, arguments)])

    def run_nodes(self, first, second):
        """Statuses of both nodes, and everything they printed."""
        done = subprocess.run([SCRIPT, first, second], cwd=self.folder, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=launch_torch_test.SECONDS,
                              env=self.variables())
        text = done.stdout.decode("utf-8", "replace")
        match = re.search(r"^statuses (\d+) (\d+)$", text, re.MULTILINE)
        self.assertTrue(match, text)
        self.assertEqual(self.marked(), [], text)
        return (int(match.group(1)), int(match.group(2))), text

    def shown(self, names):
        """What the four ranks printed, by log."""
        return {(node, rank): self.log("node%d/worker_%d.log" % (node, rank)).split()
                for node in (0, 1) for rank in range(4)
                if (self.folder / ("node%d/worker_%d.log" % (node, rank))).exists()} if names else {}

    def test_ranks_and_addresses(self):
        names = ["RANK", "LOCAL_RANK", "GROUP_RANK", "WORLD_SIZE", "MASTER_ADDR", "PADDLE_CURRENT_ENDPOINT"]
        self.write("show.py", SHOW % names)
        statuses, text = self.run_nodes(self.node(0, "--rendezvous=launcher", "show.py"),
                                        self.node(1, "--rendezvous=launcher", "show.py"))
        self.assertEqual(statuses, (0, 0), text)
        self.assertEqual(self.shown(names), {
            (0, 0): ["0", "0", "0", "4", "10.77.0.1", "10.77.0.1:6070"],
            (0, 1): ["1", "1", "0", "4", "10.77.0.1", "10.77.0.1:6071"],
            (1, 2): ["2", "0", "1", "4", "10.77.0.1", "10.77.0.2:6070"],
            (1, 3): ["3", "1", "1", "4", "10.77.0.1", "10.77.0.2:6071"]})

    def test_ranks_are_given_out_without_node_ranks(self):
        self.write("show.py", SHOW % ["RANK", "MASTER_ADDR"])
        second = self.node(-1, "--rendezvous=launcher", "show.py").replace("--log_dir=node0", "--log_dir=node1")
        statuses, text = self.run_nodes(self.node(-1, "--rendezvous=launcher", "show.py"), second)
        self.assertEqual(statuses, (0, 0), text)
        # By address: 10.77.0.1 comes first. The launchers agree before they start ranks, so logs have their numbers.
        self.assertEqual({place: words[0] for place, words in self.shown(True).items()},
                         {(0, 0): "0", (0, 1): "1", (1, 2): "2", (1, 3): "3"})

    def test_shared_log_folder_without_node_ranks_jobs13(self):
        """Two machines, ranks that register themselves: no log is written over by the other machine's."""
        # A rank ends when those of the other machine have begun: only what runs at the same time is in the way.
        here = self.folder / "here"
        here.mkdir()
        node = self.node(-1, "--grace=1", "sh", "-c", "cd %s; touch $(hostname).$DEVICE_ID; i=0; "
                         "while [ $(ls | wc -l) -lt 4 ] && [ $((i += 1)) -lt 600 ]; do sleep 0.1; done; echo from $(hostname) $DEVICE_ID" % here)
        names = ["unshare -u sh -c %s" % shlex.quote("hostname %s && exec %s" % (name, node)) for name in ("alpha", "beta")]
        statuses, text = self.run_nodes(*names)
        self.assertEqual(statuses, (0, 0), text)
        logs = sorted(path.read_text() for path in (self.folder / "node0").glob("worker*.log"))
        self.assertEqual(logs, ["from %s %d\n" % (name, local) for name in ("alpha", "beta") for local in (0, 1)], text)

    def test_variables_and_logs_of_ranks_that_register(self):
        """Node ids, rank formula, names of logs and choice of logs, as the original has them."""
        show = ["sh", "-c", "echo ${MS_NODE_ID-no} ${RANK_ID-no} $DEVICE_ID $MS_NODE_RANK $MS_SCHED_HOST $RANK_SIZE"]
        named = ["--worker_log_name=w_{ip}", "--tail_worker_log=3", "--quiet"]
        statuses, text = self.run_nodes(self.node(0, *named, *show), self.node(1, *named, *show))
        self.assertEqual(statuses, (0, 0), text)
        self.assertEqual({name: self.log(name) for name in self.logs()}, {
            "node0/w_10.77.0.1_0.log": "0 0 0 0 10.77.0.1 4\n", "node0/w_10.77.0.1_1.log": "1 1 1 0 10.77.0.1 4\n",
            "node1/w_10.77.0.2_2.log": "2 2 0 1 10.77.0.1 4\n", "node1/w_10.77.0.2_3.log": "3 3 1 1 10.77.0.1 4\n"})
        self.assertEqual(text.splitlines()[:-1], ["3 3 1 1 10.77.0.1 4"])

    def test_variables_of_ranks_that_are_given_out(self):
        """A rank of the environment is not theirs; logs are numbered by local index."""
        show = ["sh", "-c", "echo ${MS_NODE_ID-no} ${RANK_ID-no} $DEVICE_ID $MS_NODE_RANK"]
        node = "RANK_ID=0 MS_NODE_ID=0 " + self.node(-1, "--tail_worker_log=1", *show)
        statuses, text = self.run_nodes(node, node.replace("--log_dir=node0", "--log_dir=node1"))
        self.assertEqual(statuses, (0, 0), text)
        self.assertEqual({name: self.log(name) for name in self.logs()},
                         {"node%d/worker_%d.log" % (node, local): "no no %d -1\n" % local
                          for node in (0, 1) for local in (0, 1)})
        self.assertEqual([line for line in text.splitlines() if line.startswith("no no")], ["no no 1 -1"] * 2)

    def logs(self):
        return [str(path.relative_to(self.folder)) for path in self.folder.glob("node?/w*.log")]

    def test_failed_rank_ends_the_job_on_both_nodes(self):
        """Whichever node it is on, by what its launcher says: without that only after the node time-out, here 600 s."""
        for failing in (0, 3):
            with self.subTest(failing=failing):
                self.write("fail.py", "import os, sys, time\nif os.environ['RANK'] == '%d':\n    time.sleep(1)\n"
                                      "    print('failed at', time.time(), flush=True)\n    sys.exit(3)\n"
                                      "time.sleep(600)\n" % failing)
                statuses, text = self.run_nodes(*("MS_NODE_TIMEOUT=600 " + self.node(node, "--rendezvous=launcher", "fail.py")
                                                  for node in (0, 1)))
                self.assertEqual(statuses, (1, 1), text)
                self.assertIn("failed at", self.log("node%d/worker_%d.log" % (failing // 2, failing)))
                self.assertIn("rank %d " % failing, text)

    def test_node_that_never_comes(self):
        self.write("show.py", SHOW % ["RANK"])
        statuses, text = self.run_nodes(self.node(0, "--rendezvous=launcher", "--cluster_time_out=2", "show.py"),
                                        "true")
        self.assertEqual(statuses, (4, 0), text)
        self.assertIn("error[BUILD_TIMEOUT]", text)
        self.assertEqual([name for name in self.files("node0") if name.startswith("worker_")], [])

    def test_r06_master_that_does_not_answer(self):
        """Refused, unreachable and silent masters are told apart."""
        self.write("show.py", SHOW % ["RANK"])
        for address, before, said in (
                ("10.77.0.1", "", "it refuses connections"),
                ("10.77.0.9", "", "it does not answer"),
                ("10.77.0.9", "ip route add unreachable 10.77.0.9; ", "there is no route")):
            with self.subTest(said):
                node = self.node(1, "--rendezvous=launcher", "--cluster_time_out=2", "--master_addr=" + address,
                                 "show.py")
                statuses, text = self.run_nodes("true", before + node)
                self.assertEqual(statuses, (0, 4), text)
                self.assertIn("error[MASTER_UNREACHABLE]", text)
                self.assertIn(said, text)

    def test_r08_two_nodes_over_ipv6(self):
        self.write("show.py", SHOW % ["RANK", "MASTER_ADDR", "PADDLE_CURRENT_ENDPOINT"])
        with_ipv6 = "ip addr add fd77::%d/64 dev cable%d nodad && "
        nodes = [with_ipv6 % (node + 1, node) +
                 self.node(node, "--rendezvous=launcher", "--master_addr=fd77::1", "show.py")
                 for node in (0, 1)]
        statuses, text = self.run_nodes(*nodes)
        self.assertEqual(statuses, (0, 0), text)
        self.assertEqual(self.shown(True), {
            (0, 0): ["0", "fd77::1", "[fd77::1]:6070"], (0, 1): ["1", "fd77::1", "[fd77::1]:6071"],
            (1, 2): ["2", "fd77::1", "[fd77::2]:6070"], (1, 3): ["3", "fd77::1", "[fd77::2]:6071"]})

    def test_r10_cable_that_is_cut(self):
        """Nobody says goodbye: the scheduler misses the heartbeats, the other node its answers."""
        self.write("wait.py", "import time\nprint('started', flush=True)\ntime.sleep(600)\n")
        cut = ("(until grep -qs started node1/worker_2.log node1/worker_3.log; do sleep 0.1; done; "
               "ip link set cable1 down) & ")
        nodes = ["export MS_NODE_TIMEOUT=6; " + self.node(node, "--rendezvous=launcher", "wait.py") for node in (0, 1)]
        statuses, text = self.run_nodes(nodes[0], cut + nodes[1])
        self.assertEqual(statuses, (1, 1), text)
        self.assertRegex(text, r"error\[RANK_LOST\]")

    def test_r05_name_of_the_loopback_address(self):
        self.write("hosts", "127.0.0.1 localhost\n127.0.1.1 thishost\n")
        self.write("show.py", SHOW % ["RANK"])
        refused = self.node(0, "--master_addr=thishost", "show.py")
        statuses, text = self.run_nodes("mount --bind hosts /etc/hosts && " + refused, "true")
        self.assertEqual(statuses, (3, 0), text)
        self.assertIn("error[LOOPBACK_MASTER]", text)
        self.assertIn("--master_addr=10.77.0.1", text)
        single = self.node(0, "--master_addr=thishost", "show.py", ranks=2)
        statuses, text = self.run_nodes("mount --bind hosts /etc/hosts && " + single, "true")
        self.assertEqual(statuses, (0, 0), text)

    def test_r03_name_that_appears_late(self):
        """In a pod, or with --wait_dns, it is looked up again; what that took is gone from the time to form."""
        self.write("show.py", SHOW % ["MASTER_ADDR"])
        private = ("cp /dev/null resolv && echo '127.0.0.1 localhost' > hosts && "
                   "mount --bind resolv /etc/resolv.conf && mount --bind hosts /etc/hosts && ")
        add_name = "(until grep -qs 'waiting for the name' err; do sleep 0.1; done; echo '10.77.0.1 late' >> hosts) & "
        node = self.node(0, "--verbose", "--master_addr=late", "--rendezvous=launcher", "--cluster_time_out=30",
                         "show.py", ranks=2)
        for pod, flag in (("POD_IP=10.77.0.1 ", ""), ("KUBERNETES_SERVICE_HOST=10.0.0.1 ", ""), ("", " --wait_dns")):
            with self.subTest(pod + flag):
                patient = node.replace(" --verbose", " --verbose" + flag)
                statuses, text = self.run_nodes(private + add_name + pod + patient + " 2> err", "true")
                self.assertEqual(statuses, (0, 0), text + self.log("err"))
                self.assertIn("waiting for the name 'late': ", self.log("err"))
                self.assertEqual(self.log("node0/worker_1.log"), "10.77.0.1\n")
        for flags, least in (("", 0), (" --wait_dns --cluster_time_out=2", 2)):
            with self.subTest("never" + flags):
                wanted = private + "SECONDS=0; " + node + flags + " 2> err; status=$?; echo took $SECONDS; exit $status"
                wanted = wanted.replace(" show.py" + flags, flags + " show.py")
                statuses, text = self.run_nodes(wanted, "true")
                self.assertEqual(statuses, (3, 0), text)
                self.assertRegex(self.log("err"), r"error\[RESOLVE\]: 'late': .*; hint: ")
                self.assertEqual("waiting for" in self.log("err"), bool(flags), self.log("err"))
                took = int(re.search(r"took (\d+)", text).group(1))
                self.assertGreaterEqual(took, least, text)

    @unittest.skipIf(launch_torch_test.REASON, launch_torch_test.REASON)
    def test_torch_trains_over_two_nodes(self):
        shutil.copy(launch_torch_test.TRAIN, self.folder / "train.py")
        # gloo looks up the node's name, which no namespace of ours can resolve, unless told the device.
        first = "GLOO_SOCKET_IFNAME=cable0 " + self.node(0, "train.py", python=launch_torch_test.PYTHON)
        second = "GLOO_SOCKET_IFNAME=cable1 " + self.node(1, "train.py", python=launch_torch_test.PYTHON)
        statuses, text = self.run_nodes(first, second)
        self.assertEqual(statuses, (0, 0), text)
        seen = [launch_torch_test.losses(self.log("node%d/worker_%d.log" % (rank // 2, rank))) for rank in range(4)]
        self.assertEqual(len(seen[0]), launch_torch_test.STEPS)
        self.assertEqual(seen, [seen[0]] * 4)


if __name__ == "__main__":
    sys.exit(unittest.main())
