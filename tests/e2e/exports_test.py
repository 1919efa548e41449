"""Files for other programs: tables, SQL, traces, graphs, SARIF, annotations, JUnit; JSON where there is no summary."""

import csv
import importlib.util
import json
import os
import pty
import select
import shutil
import sqlite3
import subprocess
import unittest
import xml.etree.ElementTree

import command

BAD = command.network(shard="((3, 1), (1, 1))")


class ExportsTest(command.CommandTest):
    def play(self, *flags, text=None):
        self.write("net.py", text or command.network(shard="((1, 8), (8, 1))"))
        run = self.msrun("--worker_num=8", "--log_dir=out", *flags, "net.py")
        self.assert_accepted(run)
        return run

    def table(self, name):
        with open(self.folder / "out" / name, newline="", encoding="utf-8") as file:
            return list(csv.DictReader(file))

    def test_tables_hold_what_the_reports_do(self):
        self.play("--export=csv", "--detail=full")
        memory = self.report("memory.json", "out")["classes"][0]
        tensors = self.table("tensors.csv")
        self.assertEqual([int(row["bytes"]) for row in tensors], [item["bytes"] for item in memory["tensors"]])
        self.assertEqual([row["operator"] for row in tensors], [item["operator"] for item in memory["tensors"]])
        collectives = self.table("collectives.csv")
        report = self.report("communication.json", "out")
        self.assertEqual(sum(int(row["sent_bytes"]) for row in collectives), report["total"]["sent_bytes"])
        self.assertEqual({row["run"] for row in tensors + collectives}, {report["run"]["id"]})
        self.assertIn("tensors.csv", self.report("summary.json", "out")["files"])
        self.play()
        self.assertEqual(self.files("out"), sorted(command.REPORTS))

    def test_one_select_answers(self):
        self.play("--sqlite")
        memory = self.report("memory.json", "out")["classes"][0]
        with sqlite3.connect("file:%s?mode=ro" % (self.folder / "out/drydock.db"), uri=True) as database:
            ask = lambda text: database.execute(text).fetchall()
            self.assertEqual(ask("SELECT id, verdict, world_size FROM run"), [(self.report("summary.json", "out")["run"]["id"], "ok", 8)])
            self.assertEqual(ask("SELECT SUM(bytes) FROM at_peak"), [(memory["used_peak_bytes"],)])
            self.assertEqual(ask("SELECT SUM(bytes) FROM peak_by_scope"), [(memory["used_peak_bytes"],)])
            self.assertEqual(ask("SELECT MAX(bytes) FROM memory_over_step"), [(memory["used_peak_bytes"],)])
            self.assertEqual(ask("SELECT SUM(sent_bytes) FROM sent_by_line"),
                             [(self.report("communication.json", "out")["total"]["sent_bytes"],)])
            self.assertEqual(ask("SELECT line FROM sent_by_line WHERE reason = 'partial-sum'"),
                             [(command.line_of(command.network(shard="((1, 8), (8, 1))"), "return self.mm"),)])
        database.close()
        # Ours is replaced, another's is not.
        self.play("--sqlite")
        with sqlite3.connect(self.folder / "out/drydock.db") as database:
            database.execute("PRAGMA application_id=1")
        database.close()
        self.assertEqual(self.msrun("--worker_num=8", "--log_dir=out", "--sqlite", "net.py").status, 3)

    def test_sent_by_line_is_about_all_stages(self):
        self.assert_accepted(self.msrun("--worker_num=16", "--log_dir=out", "--sqlite", command.EXAMPLES / "gpt/net.py", "--layers=4", "--hidden=256", "--heads=4",
                                        "--model_parallel=4", "--vocabulary=512", "--sequence=64", "--stages=2", "--micro_batches=2"))
        job = self.report("communication.json", "out")["job"]
        with sqlite3.connect("file:%s?mode=ro" % (self.folder / "out/drydock.db"), uri=True) as database:
            self.assertEqual(database.execute("SELECT SUM(job_sent_bytes), SUM(inter_node_bytes), COUNT(DISTINCT ranks) FROM sent_by_line").fetchall(),
                             [(job["sent_bytes"], job["inter_node_bytes"], 2)])
        database.close()

    def test_memory_as_counters(self):
        self.play("--export=trace")
        trace = self.report("memory_trace.json", "out")
        counters = [event for event in trace["traceEvents"] if event["ph"] == "C"]
        peak = self.report("memory.json", "out")["classes"][0]
        self.assertEqual(max(sum(event["args"].values()) for event in counters), peak["used_peak_bytes"])
        highest = max(counters, key=lambda event: sum(event["args"].values()))
        self.assertEqual(highest["ts"], peak["peak"]["kernel"])

    def test_network_as_a_graph(self):
        self.play("--export=dot")
        text = (self.folder / "out/graph.dot").read_text()
        self.assertIn("digraph network {", text)
        if shutil.which("dot"):
            subprocess.run(["dot", "-Tsvg", "-o", os.devnull, self.folder / "out/graph.dot"], check=True)

    def test_unknown_export_is_refused_with_the_list(self):
        run = self.msrun("--export=csv,xml", "net.py")
        self.assertEqual(run.status, 2)
        self.assertIn("invalid choice: 'xml' (choose from csv, trace, dot, chakra, graph)", run.err)

    def test_sarif_points_at_the_line(self):
        self.write("net.py", BAD)
        self.assertEqual(self.msrun("--worker_num=8", "--log_dir=out", "--sarif", "net.py").status, 6)
        error = self.report("summary.json", "out")["error"]
        sarif = json.loads((self.folder / "out/drydock.sarif").read_text())
        self.assertEqual((sarif["version"], len(sarif["runs"])), ("2.1.0", 1))
        (result,) = sarif["runs"][0]["results"]
        place = result["locations"][0]["physicalLocation"]
        self.assertEqual(place["artifactLocation"]["uri"], "net.py")
        self.assertEqual(place["region"]["startLine"], command.line_of(BAD, "ops.MatMul"))
        self.assertEqual(result["level"], "error")
        self.assertTrue(result["message"]["text"].startswith(error["message"]))
        self.assertIn(result["ruleId"], [rule["id"] for rule in sarif["runs"][0]["tool"]["driver"]["rules"]])
        self.assertEqual(self.files("out"), ["drydock.sarif", "summary.json"])

    def test_annotations_for_github(self):
        self.write("net.py", BAD)
        run = self.msrun("--worker_num=8", "--log_dir=out", "--annotations=github", "net.py")
        self.assertEqual(run.status, 6)
        self.assertTrue(run.out.startswith("::error file=net.py,line=%d,title=" % command.line_of(BAD, "ops.MatMul")), run.out)
        self.assertEqual(run.out.count("\n"), 1)

    def test_many_scripts_one_verdict_each(self):
        self.write("good.py", command.network())
        self.write("bad.py", BAD)
        run = self.drydock("check", "--worker_num=8", "--log_dir=out", "--junit=junit.xml", "good.py", "bad.py", "absent.py")
        self.assertEqual(run.status, 6, run.err)
        self.assertEqual([line.split()[:2] for line in run.out.splitlines()],
                         [["ok", "good.py"], ["rejected", "bad.py:"], ["refused", "absent.py:"]])
        suite = xml.etree.ElementTree.parse(self.folder / "junit.xml").getroot()[0]
        late = self.drydock("check", "--worker_num=8", "good.py", "--junit=junit.xml")
        self.assertEqual((late.status, late.out), (2, ""), "a flag behind a script is no script")
        self.assertEqual((suite.get("tests"), suite.get("failures"), suite.get("errors")), ("3", "1", "1"))
        self.assertEqual([case.get("name") for case in suite], ["good.py", "bad.py", "absent.py"])
        self.assertIn("hint: ", suite[1][0].text)
        self.assertEqual(self.report("summary.json", "out/good")["verdict"], "ok")
        self.assertEqual(self.report("summary.json", "out/bad")["verdict"], "rejected")
        run = self.drydock("check", "--worker_num=8", "--log_dir=out", "good.py")
        self.assertEqual((run.status, run.out.split()), (0, ["ok", "good.py"]))

    def test_json_says_what_is_wrong_with_the_command(self):
        for arguments, status, code in ((["--json", "--worker_num=0", "net.py"], 2, "USAGE"),
                                        (["--json", "absent.py"], 3, "NO_SCRIPT"),
                                        (["--nonsense", "--json", "net.py"], 2, "USAGE")):
            run = self.msrun(*arguments)
            document = json.loads(run.out)
            self.assertEqual((run.status, document["schema"], document["status"], document["code"]),
                             (status, "drydock.error/1", status, code))
            self.assertIn(document["message"], run.err)
        self.write("net.py", BAD)
        self.assertEqual(json.loads(self.msrun("--json", "--worker_num=8", "net.py").out)["schema"], "drydock.summary/1")


class TerminalTest(command.CommandTest):
    """On a terminal of 80 columns."""

    def on_a_terminal(self, *arguments, **variables):
        """Status and what such a terminal is sent."""
        leader, follower = pty.openpty()
        environment = dict(command.environment(self.temporary), TERM="xterm", **variables)
        environment.pop("NO_COLOR", None) if "NO_COLOR" not in variables else None
        process = subprocess.Popen(self.command(*arguments), cwd=self.folder, stdin=subprocess.DEVNULL, stdout=follower,
                                   stderr=follower, env=environment)
        os.close(follower)
        text = b""
        while select.select([leader], [], [], command.SECONDS)[0]:
            try:
                block = os.read(leader, 65536)
            except OSError:
                break
            if not block:
                break
            text += block
        os.close(leader)
        return process.wait(), text.decode("utf-8", "replace")

    def test_answer_first_in_80_columns_with_causes_and_parts(self):
        self.write("net.py", command.network(shard="((1, 8), (8, 1))"))
        run = self.msrun("--worker_num=8", "net.py")
        lines = run.out.splitlines()
        self.assertTrue(lines[0].startswith("ok: "), lines[0])
        self.assertEqual([line for line in lines if len(line) > 80], [])
        self.assertIn("most of it because of:", run.out)
        self.assertRegex(run.out, r"of the [\d.]+ [KM]?i?B of rank 0: \w+ [\d.]+ [KM]?i?B")
        self.assertRegex(run.out, r"AllReduce +partial sum of MatMul-op0 +net.py:%d" % command.line_of(command.network(shard="((1, 8), (8, 1))"), "return self.mm"))

    @unittest.skipUnless(importlib.util.find_spec("pyte"), "no terminal emulator (python3-pyte)")
    def test_nothing_is_broken_at_the_edge_of_a_terminal_of_80_columns(self):
        """What the emulator of a terminal shows, line by line, is what was printed: no line reached its edge and went on in the next."""
        import pyte
        gpt = [command.EXAMPLES / "gpt/net.py", "--layers=4", "--hidden=256", "--heads=4", "--model_parallel=4", "--vocabulary=512", "--sequence=64"]
        for words in (["--worker_num=16", *gpt], ["--worker_num=16", "--sim_level=3", *gpt, "--stages=2", "--micro_batches=2"],
                      ["--worker_num=16", "--device_memory=0.01GB", *gpt]):
            screen = pyte.Screen(80, 200)
            stream = pyte.Stream(screen)
            _, text = self.on_a_terminal(*words)
            stream.feed(text)
            shown = [line.rstrip() for line in screen.display]
            printed = [line.rstrip() for line in self.msrun(*words).out.splitlines()]
            self.assertEqual([line for line in printed if line not in shown], [])
            self.assertLessEqual(max(map(len, printed)), 80)
            self.assertEqual([line for line in shown if "\x1b" in line], [])

    def test_errors_are_coloured_where_that_is_wanted(self):
        self.write("net.py", BAD)
        red = "\x1b[1;31merror\x1b[0m"
        status, text = self.on_a_terminal("--worker_num=8", "net.py")
        self.assertEqual(status, 6)
        self.assertIn(red, text)
        self.assertNotIn("\x1b", self.on_a_terminal("--worker_num=8", "net.py", NO_COLOR="1")[1].replace("\r\x1b[K", "").replace("\x1b[K\r", ""))
        self.assertNotIn("\x1b", self.msrun("--worker_num=8", "net.py").err)
        self.assertIn(red, self.msrun("--worker_num=8", "net.py", FORCE_COLOR="1").err)

    def test_a_long_run_says_what_it_does(self):
        self.write("net.py", "import time\ntime.sleep(2)\n" + command.network())
        status, text = self.on_a_terminal("--worker_num=8", "net.py")
        self.assertEqual(status, 0, text)
        self.assertRegex(text, r"tracing line 2 of net\.py \.\.\. \d\.\d s")
        self.assertIn("\r\x1b[K", text.split("ok: ")[0])
        self.assertNotIn("tracing", self.msrun("--worker_num=8", "net.py").err)


def fields(body):
    """(number, value) of a protobuf message: numbers, or bytes."""
    found, at = [], 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = body[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(body):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        else:
            assert tag & 7 == 2, tag
            size = varint()
            found.append((tag >> 3, body[at:at + size]))
            at += size
    return found


def messages(data):
    """The messages of a stream in which each is preceded by its length."""
    at = 0
    while at < len(data):
        size = shift = 0
        while True:
            byte = data[at]
            at += 1
            size |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        yield data[at:at + size]
        at += size


class ChakraTest(command.CommandTest):
    def test_traces_of_a_pipeline(self):
        run = self.msrun("--worker_num=16", "--log_dir=out", "--export=chakra,csv", "--detail=full", command.EXAMPLES / "gpt/net.py", "--layers=4",
                         "--hidden=256", "--heads=4", "--model_parallel=4", "--vocabulary=512", "--sequence=64", "--stages=2", "--micro_batches=2")
        self.assert_accepted(run)
        with open(self.folder / "out/kernels.csv", newline="", encoding="utf-8") as file:
            kernels = list(csv.DictReader(file))
        report = self.report("communication.json", "out")
        groups = self.report("chakra_groups.json", "out")
        for rank, ranks in ((0, "0-7"), (8, "8-15")):
            stream = list(messages((self.folder / ("out/chakra.%d.et" % rank)).read_bytes()))
            self.assertEqual(fields(stream[0]), [(1, b"drydock.chakra/1")])
            nodes = [fields(message) for message in stream[1:]]
            ids = [dict(node)[1] for node in nodes]
            self.assertEqual(len(set(ids)), len(ids))
            self.assertEqual([dict(node)[2].decode() for node in nodes], [row["name"] for row in kernels if row["ranks"] == ranks])
            for node in nodes:  # what a node needs is there
                self.assertLessEqual({value for number, value in node if number in (4, 5)}, set(ids))
            sent = {"collective": [], "send": [], "receive": []}
            for node in nodes:
                kind = {4: None, 5: "send", 6: "receive", 7: "collective"}[dict(node)[3]]
                attributes = {}
                for number, value in node:
                    if number == 10:
                        (_, name), (member, content) = fields(value)
                        attributes[name.decode()] = (member, content)
                self.assertEqual(attributes["is_cpu_op"], (27, 0))
                if kind:
                    self.assertEqual(attributes["comm_size"][0], 9)
                    sent[kind].append(attributes)
            expected = [item for item in report["collectives"] if item["ranks"] == ranks]
            self.assertEqual(len(sent["collective"]), len([c for c in expected if c["exchange"] != "message"]))
            self.assertEqual(sorted(a["comm_size"][1] for a in sent["collective"]), sorted(c["payload_bytes"] for c in expected if c["exchange"] != "message"))
            for attributes in sent["collective"]:
                self.assertEqual((attributes["comm_type"][0], attributes["pg_name"][0]), (9, 29))
                self.assertIn(rank, groups[attributes["pg_name"][1].decode()])
            number = {"AllReduce": 0, "AllGather": 2}  # as the format has them
            self.assertEqual(sorted(a["comm_type"][1] for a in sent["collective"]), sorted(number[c["kind"]] for c in expected if c["exchange"] != "message"))
            for attributes in sent["send"]:  # stages of 8 ranks
                self.assertEqual((attributes["comm_src"], attributes["comm_dst"]), ((7, rank), (7, (rank + 8) % 16)))


if __name__ == "__main__":
    unittest.main()
