"""Every flag of the original msrun in a real start, as one table: what the ranks get, which files there are, what is
said. Expected values are those of the original (launcher specification, sections 1 to 6), not of a run of ours."""

import os
import socket
import sys
import unittest

import launch

HOST = socket.gethostname()
LAST_CPU = max(os.sched_getaffinity(0))
ALL_CPUS = str(sorted(os.sched_getaffinity(0)))
ONE_RANK = ["--worker_num=1", "--local_worker_num=1"]


def logs(*names):
    """The files of a job whose ranks may register."""
    return ["scheduler.log", *names]


TWO = logs("worker_0.log", "worker_1.log")

# what is tested, flags (two ranks, port chosen by the system, unless given), files in --log_dir, variables of the
# last rank (None: not set), words on stdout, words on stderr
TABLE = (
    ("defaults", [], TWO,
     {"MS_ROLE": "MS_WORKER", "MS_SCHED_HOST": "127.0.0.1", "MS_TOPO_TIMEOUT": "600", "MS_WORKER_NUM": "2",
      "RANK_SIZE": "2", "RANK_ID": "1", "MS_NODE_ID": "1", "DEVICE_ID": "1", "MS_NODE_RANK": "-1",
      "RANK_TABLE_FILE": None, "MSRUN_CPU_LIST": None, "MS_SIMULATION_LEVEL": None, "MS_ENABLE_RECOVERY": None},
     ["Start worker process with rank id:0, log file:worker_0.log. Environment variable [RANK_ID=0] is exported.",
      "Start worker process with rank id:1, log file:worker_1.log. Environment variable [RANK_ID=1] is exported."],
     []),
    ("one rank", ONE_RANK, logs("worker_0.log"), {"RANK_ID": "0", "RANK_SIZE": "1", "DEVICE_ID": "0"}, [], []),
    ("separate words", ["--worker_num", "1", "--local_worker_num", "1"], logs("worker_0.log"),
     {"RANK_SIZE": "1"}, [], []),
    ("abbreviations", ["--worker_n=1", "--local=1", "--cluster=5"], logs("worker_0.log"),
     {"RANK_SIZE": "1", "MS_TOPO_TIMEOUT": "5"}, [], []),
    ("the last one counts", ["--cluster_time_out=5", "--cluster_time_out=6"], TWO, {"MS_TOPO_TIMEOUT": "6"}, [], []),
    ("no limit of time", ["--cluster_time_out=-1"], TWO, {"MS_TOPO_TIMEOUT": "-1"}, [], []),
    ("name of the master", ["--master_addr=localhost"], TWO, {"MS_SCHED_HOST": "127.0.0.1"}, [], []),
    ("another address", ["--master_addr=127.0.0.3"], TWO, {"MS_SCHED_HOST": "127.0.0.3"}, [], []),
    ("port", ["--master_port=PORT"], TWO, {"MS_SCHED_PORT": "PORT"}, [], []),
    ("node_rank on one node", ["--node_rank=3"], TWO, {"MS_NODE_ID": "1", "RANK_ID": "1", "MS_NODE_RANK": "3"}, [],
     ["--node_rank is ignored"]),
    ("log folder", ["--log_dir=a/b"], TWO, {"RANK_ID": "1"}, ["log file:a/b/worker_1.log."], []),
    ("name of logs", ["--worker_log_name=w_{ip}_{hostname}"],
     logs("w_127.0.0.1_%s_0.log" % HOST, "w_127.0.0.1_%s_1.log" % HOST), {}, [], []),
    ("name of logs with a folder", ["--worker_log_name=deep/w"], logs("deep/w_0.log", "deep/w_1.log"), {}, [], []),
    ("rank table", ["--rank_table_file=table.json"], TWO, {"RANK_TABLE_FILE": "table.json"}, [],
     ["RANK_TABLE_FILE=table.json"]),
    ("all logs shown", ["--tail_worker_log=-1"], TWO, {}, ["\nRANK_ID=0\n", "\nRANK_ID=1\n"], []),
    ("one log shown", ["--tail_worker_log=1"], TWO, {}, ["\nRANK_ID=1\n", "!\nRANK_ID=0\n"], []),
    ("two logs shown", ["--tail_worker_log=0,1"], TWO, {}, ["\nRANK_ID=0\n", "\nRANK_ID=1\n"], []),
    ("join as a number", ["--join=1"], TWO, {}, ["\nRANK_ID=1\n"], []),
    ("join in small letters", ["--join=true"], TWO, {}, ["\nRANK_ID=1\n"], []),
    ("no binding", ["--bind_core=False"], TWO, {"MSRUN_CPU_LIST": None, "cpus": ALL_CPUS}, [], ["!taskset"]),
    ("binding", [*ONE_RANK, "--bind_core=True"], logs("worker_0.log"), {"MSRUN_CPU_LIST": ALL_CPUS, "cpus": ALL_CPUS},
     [], ["taskset -c "]),
    ("binding in small letters", [*ONE_RANK, "--bind_core=true"], logs("worker_0.log"), {"MSRUN_CPU_LIST": ALL_CPUS},
     [], ["taskset -c "]),
    ("binding to a list", [*ONE_RANK, '--bind_core={"device0":["%d-%d"]}' % (LAST_CPU, LAST_CPU)],
     logs("worker_0.log"), {"MSRUN_CPU_LIST": None, "cpus": "[%d]" % LAST_CPU}, [], ["taskset -c %d " % LAST_CPU]),
    ("binding to a list for another device", [*ONE_RANK, '--bind_core={"device7":["%d-%d"]}' % (LAST_CPU, LAST_CPU)],
     logs("worker_0.log"), {"MSRUN_CPU_LIST": None, "cpus": ALL_CPUS}, [], ["lists no processors for device0"]),
)

SHOW = ("import os\nfor name in sorted(os.environ):\n    print(name + '=' + os.environ[name])\n"
        "print('cpus=' + str(sorted(os.sched_getaffinity(0))))\n")


class FlagsTest(launch.LaunchTest):
    def run_case(self, number, flags):
        """In a folder of its own; the last of equal flags counts."""
        self.folder = self.folder.parent / str(number)
        self.folder.mkdir()
        self.write("show.py", SHOW)
        self.write("table.json", '{"version": "1.0", "server_count": "1", "server_list": []}')
        return self.launch(2, *flags, "show.py")

    def made(self, folder):
        root = self.folder / folder
        found = {str(path.relative_to(root)) for path in root.rglob("*") if path.is_file()}
        return sorted(found - {"show.py", "table.json"})

    def check_words(self, text, words):
        for word in words:
            check = self.assertNotIn if word.startswith("!") else self.assertIn
            check(word.lstrip("!"), text)

    def test_every_line_of_the_table(self):
        port = str(launch.free_port())
        for number, (name, flags, files, variables, out, err) in enumerate(TABLE):
            with self.subTest(name):
                run = self.run_case(number, [flag.replace("PORT", port) for flag in flags])
                self.assertEqual(run.status, 0, run.err)
                folder = next((flag.split("=")[1] for flag in flags if flag.startswith("--log_dir=")), ".")
                self.assertEqual(self.made(folder), sorted(files))
                seen = dict(line.split("=", 1) for line in self.log(folder + "/" + max(files)).splitlines())
                self.assertEqual({name: seen.get(name) for name in variables},
                                 {name: value and value.replace("PORT", port) for name, value in variables.items()})
                self.check_words(run.out, out)
                self.check_words(run.err, err)

    def test_eight_ranks_without_flags(self):
        """On the port of everybody; where that is taken the refusal says so."""
        run = self.launch(0, "bash", "-c", "echo $RANK_ID of $MS_WORKER_NUM at $MS_SCHED_PORT")
        if "error[PORT_IN_USE]: 127.0.0.1:8118" in run.err:
            return
        self.assertEqual(run.status, 0, run.err)
        self.assertEqual([self.log("worker_%d.log" % rank) for rank in range(8)],
                         ["%d of 8 at 8118\n" % rank for rank in range(8)])


if __name__ == "__main__":
    sys.exit(unittest.main())
