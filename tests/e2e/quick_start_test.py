"""docs/examples/quickstart/net.py, rank by rank; docs/examples/startup/net.py.

Quick start: 8 ranks, batch 2 each: x (16, 32), w (32, 16), w2 (16, 16). MatMul ((2, 4), (4, 1)) has the
device matrix (2, 4, 1): rank r has row r // 4 and column r % 4. Each rank holds 16/2 x 32/4 = (8, 8) of x
and 32/4 x 16 = (8, 16) of w; the (8, 16) product is a partial sum over the four ranks of a row. relu
follows with ((2, 4)), so 16/4 = 4 columns from 4 * (r % 4) on are kept.
"""

import re

import command
import ir_text

RANKS = 8
SOURCE = (command.EXAMPLES / "quickstart/net.py").read_text(encoding="utf-8")
ALGORITHM_LINE = "ms.set_algo_parameters(fully_use_devices=True)\n"
ROW_GROUPS = ["4-6301172352641561019", "4-15700679239691767905"]  # tests/vectors/layout.json


def expand(ranks):
    """"0-2,5,16-48:16" -> [0, 1, 2, 5, 16, 32, 48]"""
    found = []
    for part in ranks.split(","):
        first, last, step = re.fullmatch(r"(\d+)(?:-(\d+))?(?::(\d+))?", part).groups()
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found


class QuickStartTest(command.CommandTest):
    def setUp(self):
        super().setUp()
        self.write("net.py", SOURCE)

    def test_readme_shows_what_the_program_prints(self):
        script = self.folder / "docs/examples/quickstart/net.py"
        script.parent.mkdir(parents=True)
        script.write_text(SOURCE, encoding="utf-8")
        run = self.msrun("--worker_num=8", "--log_dir=build/quickstart", "docs/examples/quickstart/net.py")
        self.assert_accepted(run)
        for page in ("README.md", "docs/zh/README.md"):
            self.assertIn("```\n%s\n```" % run.out.strip(), (command.SOURCE / page).read_text(encoding="utf-8"))

    def play(self, rank, *flags, script="net.py"):
        folder = "rank_%d" % rank
        run = self.msrun("--worker_num=8", "--sim_rank_id=%d" % rank, "--log_dir", folder, *flags, script)
        self.assert_accepted(run)
        dump = self.folder / "saved_graph" / folder
        (whole,) = dump.glob("step_parallel_begin_*.ir")
        (local,) = dump.glob("*_execute_*.ir")
        self.check_strategies(ir_text.nodes(whole.read_text()))
        self.check_forward(rank, ir_text.nodes(local.read_text()))
        self.check_parameters(local.read_text())

    def check_forward(self, rank, local):
        """matmul, its sum, the slice, relu, matmul2, its sum: in this order."""
        row = tuple(range(rank // 4 * 4, rank // 4 * 4 + 4))
        begin = next(i for i, node in enumerate(local) if node.instance == "matmul")
        forward = [node for node in local[begin:] if node.op != "Load"][:6]
        self.assertEqual([node.op for node in forward],
                         ["MatMul", "AllReduce", "StridedSlice", "ReLU", "MatMul", "AllReduce"])
        matmul, total, cut, relu, matmul2, total2 = forward
        self.assertEqual((matmul.inputs, matmul.outputs), (("8, 8", "8, 16"), ("8, 16",)))
        for reduce in (total, total2):
            self.assertEqual((reduce.inputs, reduce.outputs), (("8, 16",), ("8, 16",)))
            self.assertEqual(reduce.attribute("op"), "sum")
            self.assertEqual(reduce.attribute("rank_list"), str(row))
            self.assertEqual(reduce.attribute("group"), ROW_GROUPS[rank // 4])
        column = 4 * (rank % 4)
        self.assertEqual(cut.tuples(), [(0, column), (8, column + 4), (1, 1)])
        self.assertEqual((cut.inputs, cut.outputs), (("8, 16",), ("8, 4",)))
        self.assertEqual((relu.inputs, relu.outputs), (("8, 4",), ("8, 4",)))
        # matmul2 ((2, 4), (4, 1)): 16/4 = 4 rows of w2.
        self.assertEqual((matmul2.inputs, matmul2.outputs), (("8, 4", "4, 16"), ("8, 16",)))

    def check_strategies(self, whole):
        """The whole program: global shapes, and the strategies given and found."""
        by_instance = {node.instance: node for node in whole}
        for instance, strategy, shapes in (("matmul", "((2, 4), (4, 1))", ("16, 32", "32, 16")),
                                           ("relu", "((2, 4))", ("16, 16",)),
                                           ("matmul2", "((2, 4), (4, 1))", ("16, 16", "16, 16"))):
            node = by_instance[instance]
            self.assertIn("{in_strategy: %s}" % strategy, node.text)
            self.assertEqual(node.inputs, shapes)

    def check_parameters(self, text):
        shapes = dict(re.findall(r"^%para\d+_(\S+): <Ref\[Tensor\(F32\)\], \(([\d, ]*)\)", text, re.MULTILINE))
        # w: 32/4 rows; w2: 16/4 rows; optimizer state like its parameter.
        expected = {"w": "8, 16", "w2": "4, 16", "moments.w": "8, 16", "moments.w2": "4, 16"}
        self.assertEqual({name: shapes.get(name) for name in expected}, expected)

    def test_every_rank_has_its_own_part(self):
        for rank in range(RANKS):
            with self.subTest(rank=rank):
                self.play(rank)

    def test_groups_are_the_rows_of_the_device_matrix(self):
        self.assert_accepted(self.msrun("--worker_num=8", "net.py"))
        patterns = self.report("communication.json")["group_patterns"]
        rows = next(pattern for pattern in patterns if pattern["size"] == 4)
        self.assertEqual([expand(group["ranks"]) for group in rows["groups"]], [[0, 1, 2, 3], [4, 5, 6, 7]])
        self.assertEqual([group["name"] for group in rows["groups"]], ROW_GROUPS)

    def test_release_2_0_needs_no_algorithm_parameters(self):
        self.assertIn(ALGORITHM_LINE, SOURCE)
        self.write("old.py", SOURCE.replace(ALGORITHM_LINE, ""))
        for rank in (0, 6):
            with self.subTest(rank=rank):
                self.play(rank, "--compat=2.0", script="old.py")

    def test_release_2_0_prints_what_the_published_page_prints(self):
        """Numbers and call chains of https://www.mindspore.cn/tutorials/experts/zh-CN/r2.0/parallel/parallel_training_quickstart.html."""
        self.write("old.py", SOURCE.replace(ALGORITHM_LINE, ""))
        self.assert_accepted(self.msrun("--worker_num=8", "--compat=2.0", "--dump_all_ranks", "old.py"))
        folders = sorted(path.name for path in (self.folder / "saved_graph").iterdir())
        self.assertEqual(folders, ["rank_%d" % rank for rank in range(RANKS)])
        for rank in range(RANKS):
            (local,) = (self.folder / "saved_graph" / folders[rank]).glob("18_execute_*.ir")
            lines = local.read_text().splitlines()
            for start in ("%12(equivout) = MatMul(%10, %11)", "%15(equivout) = ReLU(%14)", "%17(equiv[CNode]11) = MatMul(%15, %16)"):
                at = next(i for i, line in enumerate(lines) if line.lstrip().startswith(start))
                chain = [line.strip() for line in lines[at + 3:at + 7]]
                self.assertRegex(chain[0], r"^# In file old\.py\(\d+\)/        (out =|return) self\.\w+\(.*\)/$")
                self.assertEqual(chain[1:3], [
                    "# In file mindspore/nn/wrap/cell_wrapper.py(114)/        out = self._backbone(data)/",
                    "# In file mindspore/nn/wrap/cell_wrapper.py(376)/        loss = self.network(*inputs)/"])
                self.assertNotIn("In file", chain[3])
            for start in ("%13(equiv", "%14(equiv"):  # the sum and the slice, which the compiler put in
                at = next(i for i, line in enumerate(lines) if line.lstrip().startswith(start))
                self.assertRegex(lines[at], r"= (AllReduce\(%12\)|StridedSlice\(%13, \(0, \d+\), \(8, \d+\), \(1, 1\)\))")
                self.assertNotIn("In file", lines[at + 3])

    def test_a_rejected_run_leaves_no_dumps_of_the_run_before(self):
        self.assert_accepted(self.msrun("--worker_num=8", "--dump_all_ranks", "net.py"))
        self.assertEqual(len(list((self.folder / "saved_graph").rglob("*.ir"))), 2 * RANKS)
        self.write("net.py", SOURCE.replace("(2, 4), (4, 1)", "(3, 4), (4, 1)"))
        self.assertEqual(self.msrun("--worker_num=8", "net.py").status, 6)
        self.assertEqual(list((self.folder / "saved_graph").rglob("*.ir")), [])

    def test_one_rank_and_all_dumps_exclude_each_other(self):
        run = self.msrun("--worker_num=8", "--sim_rank_id=3", "--dump_all_ranks", "net.py")
        self.assertEqual((run.status, "plays one rank only" in run.err), (2, True))

    def test_release_2_0_takes_the_steps_of_a_redistribution_as_they_are_found(self):
        """An AllGather along another axis than the first: then Split and Concat, which later releases have no need of here."""
        for release, expected in (("2.0", True), ("2.10", False)):
            with self.subTest(release=release):
                self.assert_accepted(self.msrun("--worker_num=8", "--compat=" + release, "net.py"))
                text = "".join(path.read_text() for path in (self.folder / "saved_graph").rglob("*.ir"))
                self.assertEqual({op: op + "(" in text for op in ("Split", "Concat")}, {"Split": expected, "Concat": expected})

    def test_one_rank_is_the_same_as_in_the_full_run(self):
        self.assert_accepted(self.msrun("--worker_num=4096", "--log_dir=all", "net.py"))
        self.assert_accepted(self.msrun("--worker_num=4096", "--sim_rank_id=5", "--log_dir=one", "net.py"))
        full, one = (self.report("communication.json", folder) for folder in ("all", "one"))
        self.assertTrue(full["agreement"]["holds"])
        self.assertEqual(one["collectives"], full["collectives"])
        self.assertEqual(one["total"], full["total"])
        self.assertEqual(self.groups_of(5, full), self.groups_in(one["rank"]))
        self.assertEqual(self.memory_of(5, "one"), self.memory_of(5, "all"))
        summary = self.report("summary.json", "all")
        self.assertEqual((summary["ranks_checked"], summary["verdict"]), (4096, "ok"))

    def groups_of(self, rank, report):
        return [(pattern["id"], group["name"], group["ranks"], expand(group["ranks"]).index(rank))
                for pattern in report["group_patterns"] for group in pattern["groups"]
                if rank in expand(group["ranks"])]

    def groups_in(self, rank):
        return [(group["group"], group["name"], group["ranks"], group["index_in_group"]) for group in rank["groups"]]

    def memory_of(self, rank, folder):
        (found,) = [entry for entry in self.report("memory.json", folder)["classes"] if rank in expand(entry["ranks"])]
        return {key: value for key, value in found.items() if key not in ("ranks", "rank_count")}

    def test_threads_change_no_byte(self):
        found = []
        for threads in (1, 8):
            folder = "threads"  # the same name: it is part of the answer
            run = self.msrun("--worker_num=256", "--threads=%d" % threads, "--json", "--log_dir", folder, "net.py")
            self.assert_accepted(run)
            self.assertEqual(self.files(folder), command.REPORTS)
            found.append([run.out] + [(self.folder / folder / name).read_bytes() for name in command.REPORTS])
        self.assertEqual(found[0], found[1])

    def test_swapped_arguments_are_named_with_both_shapes(self):
        right = "get_dataset(BATCH_PER_RANK, IN_DIM, OUT_DIM, STEPS_PER_EPOCH)"
        wrong = "get_dataset(BATCH_PER_RANK, STEPS_PER_EPOCH, IN_DIM, OUT_DIM)"
        self.assertIn(right, SOURCE)
        self.write("net.py", SOURCE.replace(right, wrong))
        run = self.msrun("--worker_num=8", "--log_dir=out", "net.py")
        self.assert_rejected(run, 6)
        # Rows of 4 values now: x (2 * 8, 4) meets w (32, 16); 4 columns are not 32 rows.
        line = 1 + SOURCE[:SOURCE.index("self.matmul(x, self.weight)")].count("\n")
        self.assertRegex(run.errors()[0], r"^net\.py:%d(:\d+)?: error: " % line)
        for part in ("'MatMul'", "(16, 4)", "(32, 16)", "dimension 1 of input 0 is 4", "dimension 0 of input 1 is 32"):
            self.assertIn(part, run.errors()[0])
        self.assertNotIn("drydock_run", run.err)  # the user's frames only


class StartUpTest(command.CommandTest):
    SCRIPT = command.EXAMPLES / "startup/net.py"

    def test_runs_without_data(self):
        self.assert_accepted(self.msrun("--worker_num=8", self.SCRIPT))
        report = self.report("communication.json")
        # Gradients of weight (10, 784) and bias (10), float32, averaged over the 8 ranks; one by one or together.
        self.assertEqual(sum(entry["payload_bytes"] for entry in report["collectives"]), 4 * 7840 + 4 * 10)
        self.assertEqual({(entry["kind"], entry["group_size"]) for entry in report["collectives"]}, {("AllReduce", 8)})

    def test_folder_without_the_files_is_a_clear_error(self):
        (self.folder / "data").mkdir()
        run = self.msrun("--worker_num=8", "--log_dir=out", self.SCRIPT, DATA_PATH="data")
        self.assert_rejected(run, 6)
        self.assertIn("folder 'data' holds no MNIST files", run.err)

    def test_dataset_of_a_folder_without_the_files_is_named(self):
        (self.folder / "data").mkdir()
        self.write("net.py", "import mindspore.dataset as ds\nds.MnistDataset('data')\n")
        run = self.msrun("--log_dir=out", "net.py")
        self.assert_rejected(run, 6)
        self.assertRegex(run.errors()[0], r"^net\.py:2(:\d+)?: error: .*folder 'data' holds no MnistDataset files")
