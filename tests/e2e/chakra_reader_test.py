"""Execution traces in the hands of the reader that simulators use: mlcommons/chakra's feeder, in build/chakra or DRYDOCK_CHAKRA
(tests/tools/fetch_chakra.sh)."""

import csv
import os
import shutil
import subprocess
import unittest
from pathlib import Path

import command

CHAKRA = Path(os.environ.get("DRYDOCK_CHAKRA", command.SOURCE / "build/chakra"))
FEEDER = CHAKRA / "src/feeder/et_feeder.cpp"
SEND, RECEIVE, COLLECTIVE = 5, 6, 7
NUMBERS = {"AllReduce": 0, "AllGather": 2, "ReduceScatter": 7}  # et_def.proto, CollectiveCommType


@unittest.skipUnless(FEEDER.exists(), "no mlcommons/chakra in %s (tests/tools/fetch_chakra.sh)" % CHAKRA)
@unittest.skipUnless(shutil.which("protoc") and shutil.which("g++"), "no protoc or no g++")
class ChakraReaderTest(command.CommandTest):
    def reader(self):
        """The reader's own sources and our main()."""
        made = self.folder / "reader"
        made.mkdir()
        subprocess.run(["protoc", "--cpp_out=" + str(made), "-I", CHAKRA / "schema/protobuf", "et_def.proto"], check=True)
        sources = [made / "et_def.pb.cc", CHAKRA / "src/third_party/utils/protoio.cc",
                   FEEDER, FEEDER.with_name("et_feeder_node.cpp"),
                   command.SOURCE / "tests/e2e/chakra_feeder.cc"]
        subprocess.run(["g++", "-std=c++17", "-O0", "-w", "-I", made, "-I", CHAKRA / "src/feeder", "-I", CHAKRA / "src/third_party/utils",
                        *sources, "-lprotobuf", "-pthread", "-o", made / "feeder"], check=True, timeout=command.SECONDS)
        return made / "feeder"

    def test_every_node_is_read_and_issued(self):
        self.assert_accepted(self.msrun(
            "--worker_num=16", "--log_dir=out", "--export=chakra", "--detail=full", command.EXAMPLES / "gpt/net.py", "--layers=4", "--hidden=256",
            "--heads=4", "--model_parallel=4", "--vocabulary=512", "--sequence=64", "--stages=2", "--micro_batches=2", "--shard_optimizer"))
        feeder = self.reader()
        with open(self.folder / "out/kernels.csv", newline="", encoding="utf-8") as file:
            kernels = list(csv.DictReader(file))
        collectives = self.report("communication.json", "out")["collectives"]
        groups = self.report("chakra_groups.json", "out")
        for rank, ranks in ((0, "0-7"), (8, "8-15")):
            done = subprocess.run([feeder, self.folder / ("out/chakra.%d.et" % rank)], capture_output=True, text=True, timeout=command.SECONDS)
            self.assertEqual(done.returncode, 0, done.stdout[-500:] + done.stderr)
            nodes = [line.split("\t") for line in done.stdout.splitlines()]
            own = [row for row in kernels if row["ranks"] == ranks]
            self.assertEqual(sorted(node[2] for node in nodes), sorted(row["name"] for row in own))
            self.assertEqual({node[3] for node in nodes}, {"0"})  # none runs on the host
            expected = [c for c in collectives if c["ranks"] == ranks]
            self.assertEqual(sorted((int(node[4]), int(node[5])) for node in nodes if int(node[1]) == COLLECTIVE),
                             sorted((NUMBERS[c["kind"]], c["payload_bytes"]) for c in expected if c["exchange"] != "message"))
            for node in nodes:
                if int(node[1]) == COLLECTIVE:
                    self.assertIn(rank, groups[node[6]])
            for kind, number in (("Send", SEND), ("Receive", RECEIVE)):
                self.assertEqual(sum(int(node[1]) == number for node in nodes), sum(c["kind"] == kind for c in expected))


if __name__ == "__main__":
    unittest.main()
