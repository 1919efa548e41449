"""The comparison with MindSpore's dry run: what it reads, which scripts it compares, what it calls equal."""

import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "reference"))
import differences  # noqa: E402
import ours  # noqa: E402
import records  # noqa: E402
import theirs  # noqa: E402
import truth  # noqa: E402
import verdicts  # noqa: E402


def collective(op, ranks, size):
    return {"op": op, "ranks": ranks, "bytes": size}


class RecordsTest(unittest.TestCase):
    def test_ranges_are_written_and_read(self):
        for ranks, text in (([0, 1, 2, 3, 8], "0-3,8"), ([0, 4, 8, 12], "0-12:4"), ([5], "5"), ([0, 4], "0,4")):
            self.assertEqual(records.ranges(ranks), text)
            self.assertEqual([rank for rank in range(20) if records.holds(text, rank)], ranks)

    def test_equal_neighbours_are_counted(self):
        names = ["MatMul", "MatMul", "Add", "MatMul"]
        self.assertEqual(records.run_length(names), "MatMul*2 Add MatMul")
        self.assertEqual(records.from_run_length("MatMul*2 Add MatMul"), names)

    def test_a_step_is_what_ran_as_often_as_most(self):
        # Two steps of a and b; c ran once, before them.
        names = ["c/Cast-op0", "a/MatMul-op0", "b/Add-op1", "a/MatMul-op0", "b/Add-op1"]
        rows = [{"node_name": name, "node_info": ""} for name in names]
        self.assertEqual(records.rows_of_a_step(rows)[0], 2)
        self.assertEqual(records.kernels_of_a_step(rows), ["MatMul", "Add"])

    def test_the_name_of_a_kernel_is_its_primitive(self):
        self.assertEqual(records.kernel_name({
            "node_name": "Default/x-op3", "node_info": "@g:C{[0]: ValueNode<Primitive> PrimFunc_MatMul, [1]: p}"}), "MatMul")

    def test_what_is_not_compared_follows_from_calls_and_settings(self):
        left_out = (("another search", set(), {"parallel_mode": lambda value: value == "recursive_programming"}),)
        for text, why in (
                ("set(pipeline_stages=1, search_mode='sharding_propagation')", ""),
                ("P = 2\nset(pipeline_stages=P)", ""),
                ("set(enable_parallel_optimizer=True)", ""),
                ("net = nn.GradAccumulationCell(Net(), 4)", ""),
                ("AutoParallel(net, parallel_mode='recursive_programming')", "another search")):
            self.assertEqual(records.not_compared(text, left_out), why, text)


class DifferencesTest(unittest.TestCase):
    def test_collectives_are_equal_in_sequence_in_groups_as_a_set_or_not(self):
        a, b, c = (collective("AllReduce", "0-3", 8), collective("AllGather", "0,4", 8), collective("AllReduce", "0-3", 4))
        for mine, word in (([a, b, c], "order"), ([b, a, c], "group order"), ([c, b, a], "set"), ([a, b], "no")):
            self.assertEqual(differences.collectives([a, b, c], mine)[0], word)

    def test_kernels_say_what_is_missing_or_where_the_order_ends(self):
        self.assertEqual(differences.kernels("Add MatMul", "Add MatMul"), (True, True, ""))
        self.assertEqual(differences.kernels("Add MatMul*2", "Add MatMul Cast"), (False, False, "missing: MatMul; extra: Cast"))
        equal, ordered, text = differences.kernels("Add MatMul", "MatMul Add")
        self.assertEqual((equal, ordered), (True, False))
        self.assertIn("from kernel 0 on", text)

    def test_slices_and_strategies_count_what_both_know(self):
        self.assertEqual(differences.slices({"w": [4, 8], "v": {"slice": [2]}, "x": [1]}, {"w": [4, 8], "v": [3]}, 8)[:2], (1, 2))
        sharded = {"slice": [8, 4], "optimizer_group": "4-5226697808808137312"}
        self.assertEqual(differences.slices({"w": sharded}, {"w": [2, 4]}, 8)[:2], (1, 1))
        sharded["optimizer_group"] = "hccl_world_group"  # of all 8 ranks
        self.assertEqual(differences.slices({"w": sharded}, {"w": [1, 4]}, 8)[:2], (1, 1))
        self.assertEqual(differences.strategies({"M": [[2, 1], [1, 4]]}, {"M": "((2, 1), (1, 4))"})[:2], (1, 1))

    def test_parts_that_only_one_side_tells_apart_are_put_together(self):
        self.assertEqual(ours.their_parts({"Kernel": 5, "ContinuousMemory": 2, "Weight": 1}, 9),
                         {"Weight": 1, "ConstantValue": 0, "Kernel": 8})


def row(**changes):
    one = {"name": "net", "used": 0, "used %": 0.0, "actual": 0, "actual %": 0.0, "persistent": 0,
           "parts": {"Weight": 0}, "collectives": "order", "kernels": True, "kernel order": True,
           "slices": (3, 3, ""), "strategies": (2, 2, "")}
    one.update(changes)
    return one


class VerdictsTest(unittest.TestCase):
    def test_a_peak_is_equal_to_the_byte_or_near_in_percent(self):
        for difference, share, verdict in ((0, 0.0, "equal"), (512, 0.09, "within 0.1 %"), (-512, -0.5, "within 1 %"),
                                           (512, 1.5, "differs")):
            self.assertEqual(verdicts.verdicts_of(row(**{"used": difference, "used %": share}))["used"], verdict)

    def test_worse_than_expected_is_a_failure_and_better_is_told(self):
        far = row(**{"used": 99, "used %": 0.5})
        self.assertEqual(verdicts.judge(row(), {}), ([], []))
        self.assertEqual(verdicts.judge(far, {"used": "within 1 %"}), ([], []))
        self.assertEqual(verdicts.judge(far, {})[0], ["net: used: within 1 %, expected: equal"])
        self.assertEqual(verdicts.judge(far, {"used": "differs"})[1], ["net: used: within 1 %, expected: differs"])

    def test_what_does_not_run_is_worse_than_anything(self):
        worse, _ = verdicts.judge({"name": "net", "error": "why"}, {"used": "differs"})
        self.assertEqual(worse, ["net: does not run: why"])
        self.assertEqual(verdicts.judge({"name": "net"}, {"runs": "does not run"}), ([], []))

    def test_sets_without_expectations_are_judged_by_shares(self):
        rows = [row(), row(collectives="set"), row(**{"actual": 1, "actual %": 2.0}), {"name": "other"}]
        self.assertEqual(verdicts.shares(rows), (0.5, 0.5))

    def test_what_was_expected_before_keeps_its_cause(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "dry_run").mkdir()
            (folder / "dry_run/cases.json").write_text("{}")
            (folder / "dry_run/expected.json").write_text(
                '{"net": {"used": "differs", "because": "of this"}, "gone": {"used": "differs", "because": "x"}}')
            verdicts.renew(folder, [row(kernels=False), row(name="gone")])
            self.assertEqual(verdicts.load(folder), {"net": {"kernels": "differs", "because": "of this"}})


class PageTest(unittest.TestCase):
    def test_a_row_of_the_page_shows_what_is_equal(self):
        self.assertEqual(truth.page_row(row(), 8), "| net | 8 | = | = | = | = | = | = | = | = | = |")
        self.assertIn("| -1.500 % |", truth.page_row(row(**{"used": -9, "used %": -1.5}), 8))

    def test_what_the_machine_decides_is_no_change_of_a_record(self):
        self.assertEqual(truth.changed_fields({"wall_s": 1, "exit": 0}, {"wall_s": 2, "exit": 0}), [])
        self.assertEqual(truth.changed_fields({"exit": 0}, {"exit": 0, "steps": 1}), ["steps"])


# Blocks: a weight of 1024 from 1 on, a result of 512 from 2 to 5, another one of 512 from 3 to 4: the highest sum is 2048 at 3.
BLOCKS = """start_time_stamp,end_time_stamp,size,type,task_name,node_name,
1,9223372036854775807,1024,Weight,Prepare,w,
2,5,512,Kernel,MatMul,Default/MatMul-op0,
3,4,512,Kernel,Add,Default/Add-op0,
"""
ORDER = '''index,node_name,logic_id,stream_id,node_info,event_id,group
"1","Default/MatMul-op0","0","0","x{[0]: ValueNode<Primitive> PrimFunc_MatMul, [1]: a}","",""
"2","Default/StreamSend-op0","0","0","","7",""
"3","Default/AllReduce-op0","0","1","x{[0]: ValueNode<Primitive> PrimFunc_AllReduce, [1]: a}","","g"
'''
COLLECTIVES = '''index,group,comm_rank,primitive,src_rank,dest_rank,root_rank,input_shape,input_type,output_shape,output_type,input_size,output_size
"3","g","0 1 2 3","AllReduce","","","","(2, 4)","Float32","(2, 4)","Float32","32","32"
'''


class RecordingTest(unittest.TestCase):
    def test_what_a_run_left_becomes_a_record(self):
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            (folder / "net.py").write_text('jit_config={"jit_level": "O0"}')
            (folder / "log").write_text("Max peak used memory size is 2048\nMax actual used memory size is 4096\n")
            (folder / "memory_block.csv").write_text(BLOCKS)
            (folder / "execute_order.csv").write_text(ORDER)
            (folder / "comm_execute_order.csv").write_text(COLLECTIVES)
            record = theirs.read_record(folder, folder / "net.py", 8, 0, 0, 1.25)
        self.assertEqual((record["used_peak_bytes"], record["actual_peak_bytes"]), (2048, 4096))
        self.assertEqual((record["peak_at"], record["peak_parts"]), ("Default/Add-op0", {"Kernel": 1024, "Weight": 1024}))
        self.assertEqual((record["persistent_bytes"], record["jit_level"]), (1024, "O0"))
        self.assertEqual((record["kernel_order"], record["kernels"], record["stream_events"]), ("MatMul AllReduce", 2, 1))
        self.assertEqual([(one["op"], one["ranks"], one["inputs"], one["bytes"]) for one in record["collectives"]],
                         [("AllReduce", "0-3", [[2, 4]], 32)])


if __name__ == "__main__":
    unittest.main()
