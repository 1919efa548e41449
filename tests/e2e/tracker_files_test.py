"""Files of MindSpore's own dry run: MS_ALLOC_CONF asks for the memory tracker's, MS_DEV_SAVE_GRAPHS for IR dumps."""

import csv
import unittest

import command

# x (16 rows in all) is cut by 2 rows per rank and gathered: w is cut by columns.
CUT = command.network(shard="((1, 1), (1, 8))")


# First lines of the files that MindSpore 2.10 writes.
COLUMNS = {
    "memory_block.csv": "start_time_stamp,end_time_stamp,device_addr,stream_id,pool_type,size,actual_used_memory,actual_peak_memory,file_name,line_num,type,"
                        "producer_task,task_name,node_name,graph_name,user_tasks,last_user_task,python_stack,is_persistent,is_small,",
    "task.csv": "time_stamp,task_name,node_name,graph_name,file_name,line_num,python_stack,"}


def peak_of(blocks):
    """The highest sum of what is alive at one time."""
    events = sorted([(int(one["start_time_stamp"]), 1, int(one["size"])) for one in blocks] +
                    [(int(one["end_time_stamp"]), 0, -int(one["size"])) for one in blocks])
    alive = peak = 0
    for _, _, size in events:
        alive += size
        peak = max(peak, alive)
    return peak


class TrackerFilesTest(command.CommandTest):
    def run_with(self, folder="out", arguments=(), **variables):
        run = self.msrun("--worker_num=8", "--log_dir=" + folder, "--quiet", *arguments,
                         self.write("net.py", CUT), **variables)
        self.assert_accepted(run)

    def rows(self, *path):
        with self.folder.joinpath(*path).open(encoding="utf-8", newline="") as stream:
            return list(csv.DictReader(stream))

    def test_nothing_is_written_that_nobody_asked_for(self):
        self.run_with()
        self.assertEqual(self.files("out"), command.REPORTS)

    def test_order_of_kernels_of_the_first_rank(self):
        self.run_with(MS_ALLOC_CONF="memory_tracker:True")
        names = {row["index"]: row["node_name"].rsplit("/", 1)[-1]
                 for row in self.rows("out", "rank_0", "execute_order", "execute_order.csv")}
        self.assertIn("MatMul-op0", names.values())
        # Rows of the input come together: 2 of 32 columns, float32, become 16.
        gathered = self.rows("out", "rank_0", "execute_order", "comm_execute_order.csv")[0]
        self.assertEqual([gathered[key] for key in ("primitive", "comm_rank", "input_shape", "input_size", "output_size")],
                         ["AllGather", "0 1 2 3 4 5 6 7", "(2, 32)", "256", "2048"])
        self.assertEqual(names[gathered["index"]], "AllGather-op0")

    def test_blocks_have_the_peak_of_the_report(self):
        """The highest sum of what is alive at one time is the peak without fragments."""
        self.run_with(MS_ALLOC_CONF="memory_tracker:True")
        blocks = self.rows("out", "rank_0", "memory_block.csv")
        peak = peak_of(blocks)
        self.assertEqual(peak, self.report("memory.json", "out")["classes"][0]["used_peak_bytes"])
        self.assertEqual(max(int(one["actual_used_memory"]) for one in blocks), peak)
        # w: 32 rows of 16 columns / 8 ranks, float32, 256 bytes; MindSpore keeps multiples of 512 with 32 bytes to spare.
        weights = [(one["node_name"], one["size"]) for one in blocks if one["type"] == "Weight"]
        self.assertEqual(weights, [("w", "512")])

    def test_level_2_has_the_tables_of_every_class_of_ranks(self):
        sizes = ("--layers=4", "--hidden=64", "--heads=4", "--vocabulary=128", "--sequence=16", "--stages=4", "--micro_batches=4", "--model_parallel=2")
        run = self.msrun("--sim_level=2", "--worker_num=16", "--log_dir=out", "--quiet", str(command.EXAMPLES / "gpt/net.py"), *sizes)
        self.assert_accepted(run)
        classes = self.report("memory.json", "out")["classes"]
        self.assertEqual(len(classes), 4)
        for one in classes:
            first = "rank_" + one["ranks"].split("-")[0]
            for name, columns in COLUMNS.items():
                self.assertEqual(self.folder.joinpath("out", first, name).read_text(encoding="utf-8").splitlines()[0], columns)
            self.assertEqual(peak_of(self.rows("out", first, "memory_block.csv")), one["used_peak_bytes"])

    def test_tasks_are_launches_in_order(self):
        self.run_with(MS_ALLOC_CONF="memory_tracker:True")
        tasks = self.rows("out", "rank_0", "task.csv")
        order = [row["node_name"] for row in self.rows("out", "rank_0", "execute_order", "execute_order.csv")
                 if "/Stream" not in row["node_name"]]
        self.assertEqual([one["node_name"] for one in tasks if one["file_name"].endswith("/kernel_actor.cc") and
                          one["line_num"] == "133"], order)
        stamps = [int(one["time_stamp"]) for one in tasks]
        self.assertEqual(stamps, sorted(stamps))

    def test_a_rank_and_a_folder_can_be_chosen(self):
        self.run_with(arguments=["--sim_rank_id=5"], MS_ALLOC_CONF="memory_tracker_path:elsewhere")
        self.assertEqual(self.files("elsewhere"), ["rank_5"])
        self.assertEqual(self.files("out"), command.REPORTS)

    def test_the_environment_asks_for_ir_dumps(self):
        self.run_with(MS_DEV_SAVE_GRAPHS="1", MS_DEV_SAVE_GRAPHS_PATH="graphs")
        self.assertTrue(any(name.endswith(".ir") for name in self.files("graphs/rank_0")))

    def test_a_level_that_does_not_exist_is_refused(self):
        run = self.msrun("--worker_num=8", "--log_dir=out", self.write("net.py", CUT), MS_DEV_SAVE_GRAPHS="7")
        self.assert_rejected(run, 6)
        self.assertIn("MS_DEV_SAVE_GRAPHS must be 0, 1, 2 or 3, not '7'", run.errors()[0])


if __name__ == "__main__":
    unittest.main()
