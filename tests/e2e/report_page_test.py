"""report.html in a real browser: no errors, no network, figures as in the JSON files, cursor, search, keyboard, sizes.

Screenshots are kept in build/ci-artifacts/screenshots, to be looked at.
"""

import os
import unittest
from pathlib import Path

import browser
import command

GPT = command.EXAMPLES / "gpt/net.py"
SMALL = ["--layers=4", "--hidden=256", "--heads=4", "--model_parallel=4", "--vocabulary=512", "--sequence=64"]
PICTURES = Path(os.environ.get("DRYDOCK_BUILD_DIR", command.SOURCE / "build/dev")).parent / "ci-artifacts/screenshots"
# 59.3 GiB as the page writes it.
BYTES = '(v => { let u = 0; while (v >= 1024) { v /= 1024; u += 1; } return u ? v.toFixed(1) + " " + ["B","KiB","MiB","GiB"][u] : v + " B"; })'


@unittest.skipUnless(browser.PROGRAM, "no Chromium (Debian package chromium)")
class ReportPageTest(command.CommandTest):
    def play(self, folder, *arguments, flags=("--html",)):
        run = self.msrun("--worker_num=32", "--log_dir", folder, *flags, GPT, *SMALL, *arguments)
        self.assert_accepted(run)
        return self.folder / folder / "report.html"

    def check_clean(self, page):
        self.assertEqual(page.messages, [])

    def picture(self, page, name, width):
        PICTURES.mkdir(parents=True, exist_ok=True)
        page.resize(width, min(page.js("document.documentElement.scrollHeight"), 8000))
        page.js("new Promise(done => setTimeout(done, 200))")
        page.screenshot(PICTURES / ("%s_%d.png" % (name, width)))
        self.assertLessEqual(page.js("document.documentElement.scrollWidth"), width)

    def test_figures_cursor_search_and_keyboard(self):
        path = self.play("out", "--stages=2", "--micro_batches=2")
        memory = self.report("memory.json", "out")
        summary = self.report("summary.json", "out")
        communication = self.report("communication.json", "out")
        with browser.Browser() as page:
            page.open(path)
            self.check_clean(page)
            # What was packed comes out as it was: all fields of all reports (groups by name are left out).
            for name in ("summary", "memory", "profile", "communication"):
                report = self.report(name + ".json", "out")
                if name == "communication":
                    for pattern in report["group_patterns"]:
                        del pattern["groups"]
                self.assertEqual(page.js("drydockRuns[0].%s" % name), report, name)
            # The verdict's figures.
            worst = memory["classes"][memory["heaviest"]]
            cards = page.js("document.querySelector('.verdict').innerText")
            for value in (worst["actual_peak_bytes"], worst["head_room_bytes"], worst["kept_for_backward_bytes"],
                          communication["total"]["sent_bytes"], communication["job"]["inter_node_bytes"]):
                self.assertIn(page.js("%s(%d)" % (BYTES, value)), cards)
            self.assertIn(page.js("document.title"), "net.py – Drydock")
            self.assertEqual(page.js("document.querySelectorAll('.classes label').length"), len(memory["classes"]))
            # The chosen moment is the peak; its bytes are those of memory.json.
            panel = "document.querySelector('.readout').innerText"
            self.assertIn(page.js("%s(%d)" % (BYTES, worst["used_peak_bytes"])), page.js(panel))
            self.assertIn(worst["peak"]["operator"], page.js(panel).replace("\n", ""))
            # The cursor: another kernel, another text.
            box = page.js("(r => [r.left, r.top, r.width, r.height])(document.querySelector('.u-over').getBoundingClientRect())")
            page.mouse("mouseMoved", box[0] + box[2] * 0.1, box[1] + box[3] / 2)
            page.mouse("mouseMoved", box[0] + box[2] * 0.9, box[1] + box[3] / 2)
            late = page.js(panel)
            profile = self.report("profile.json", "out")["classes"][memory["heaviest"]]
            kernel = int(late.split("kernel")[1].split(" of ")[0].strip().replace(",", ""))
            at = [item["kernel"] for item in profile["kernels"]].index(kernel)
            self.assertAlmostEqual(kernel / profile["kernel_count"], 0.9, delta=0.05)
            total = sum(part["bytes"][at] for part in profile["parts"])
            self.assertIn(page.js("%s(%d)" % (BYTES, total)), late)
            self.assertIn(profile["kernels"][at]["operator"], late.replace("\n", ""))
            # A click chooses the moment for the map of what is alive, which sums to it.
            page.click(box[0] + box[2] * 0.9, box[1] + box[3] / 2)
            alive = page.js("document.querySelector('.treemap').parentElement.querySelector('.status').innerText")
            self.assertTrue(alive.startswith(page.js("%s(%d)" % (BYTES, total))), alive)
            # The keyboard: one kernel further, and back to the peak.
            page.js("document.querySelector('.chart').focus()")
            page.key("ArrowRight")
            self.assertEqual(int(page.js("document.querySelector('.chart').getAttribute('aria-valuenow')")), at + 1)
            # The matrix sums to what all ranks send, of all stages.
            self.assertAlmostEqual(float(page.js("document.querySelector('.matrix canvas').dataset.sum")) / communication["job"]["sent_bytes"], 1, 5)
            shares = page.js("[...document.querySelectorAll('#causes + .long-table td:last-child')].map(e => parseFloat(e.innerText))")
            self.assertAlmostEqual(sum(shares), 100, delta=0.1 * len(shares))
            # Search: only what fits stays, and says so.
            page.js("(i => { i.value = 'moment1 block'; i.dispatchEvent(new Event('input')); })"
                    "(document.querySelector('#tensors').nextSibling.querySelector('input[type=search]'))")
            rows = page.js("[...document.querySelector('#tensors').nextSibling.querySelectorAll('tbody tr')].map(r => r.innerText)")
            self.assertTrue(rows)
            for row in rows:
                self.assertIn("moment1", row)
            page.js("(i => { i.value = 'no such tensor'; i.dispatchEvent(new Event('input')); })"
                    "(document.querySelector('#tensors').nextSibling.querySelector('input[type=search]'))")
            self.assertEqual(page.js("document.querySelector('#tensors').nextSibling.querySelectorAll('tbody tr').length"), 0)
            self.check_clean(page)
            self.picture(page, "stages", 1280)
            self.picture(page, "stages", 390)
            self.check_clean(page)

    def test_roles_and_names(self):
        path = self.play("out")
        with browser.Browser(dark=True) as page:
            page.open(path)
            # Every control and picture has a name for those who do not see it.
            self.assertEqual(page.js(
                "[...document.querySelectorAll('button, input, canvas, [role=img], [role=slider], [role=region], [role=meter]')]"
                ".filter(e => !(e.closest('[role=slider]') || e.getAttribute('aria-label') || e.innerText.trim() || e.closest('label')?.innerText.trim()))"
                ".map(e => e.outerHTML.slice(0, 120))"), [])
            self.assertEqual(page.js("[...document.querySelectorAll('section')].filter(s => !document.getElementById(s.getAttribute('aria-labelledby'))).length"), 0)
            # Text on its ground: contrast of at least 4.5 : 1 (WCAG AA).
            self.assertGreater(page.js(
                "(() => { const style = getComputedStyle(document.documentElement); const l = n => { const v = style.getPropertyValue(n).trim().slice(1);"
                " const c = [0, 2, 4].map(i => parseInt(v.slice(i, i + 2), 16) / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);"
                " return 0.2126 * c[0] + 0.7152 * c[1] + 0.0722 * c[2]; }; const r = (a, b) => { const [x, y] = [l(a), l(b)].sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };"
                " return Math.min(r('--text', '--panel'), r('--muted', '--panel'), r('--muted', '--panel-2'), r('--good', '--good-bg'), r('--bad', '--bad-bg')); })()"), 4.5)
            self.check_clean(page)
            self.picture(page, "dark", 1280)
            self.picture(page, "dark", 390)

    def test_time_line_and_what_would_fit(self):
        path = self.play("out", "--stages=2", "--micro_batches=4", flags=("--html", "--sim_level=3", "--device_memory=0.008GB"))
        summary = self.report("summary.json", "out")
        self.assertEqual(summary["verdict"], "memory-exceeded")
        with browser.Browser() as page:
            page.open(path)
            rows = page.js("[...document.querySelectorAll('.trials li')].map(e => e.innerText)")
            self.assertEqual(len(rows), len(summary["trials"]))
            for trial in summary["trials"]:
                (row,) = [row for row in rows if row.split("\n")[1].startswith(trial["change"])]
                self.assertIn(trial["problem"] or page.js("%s(%d)" % (BYTES, trial["peak_bytes"])), row)
            # Words on colours of kinds can be read in both themes.
            for _ in range(2):
                page.js("document.querySelector('.top button[aria-label]').click()")
                self.assertGreater(page.js(
                    "(() => { const l = c => { const v = c.map(x => x / 255).map(x => x <= 0.03928 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4);"
                    " return 0.2126 * v[0] + 0.7152 * v[1] + 0.0722 * v[2]; };"
                    " const rgb = (e, n) => getComputedStyle(e).getPropertyValue(n).match(/[0-9.]+/g).slice(0, 3).map(Number);"
                    " const r = g => { const [x, y] = [rgb(g.querySelector('rect'), 'fill'), rgb(g.querySelector('.label'), 'fill')].map(l).sort((p, q) => q - p); return (x + 0.05) / (y + 0.05); };"
                    " return Math.min(...[...document.querySelectorAll('.treemap g')].filter(g => g.querySelector('.label')).map(r)); })()"), 4.4)
            # The note beside the pointer tells what the row of a stage shows.
            page.js("document.querySelector('.gantt').scrollIntoView({ block: 'center', behavior: 'instant' })")
            box = page.js("(r => [r.left, r.top, r.width])(document.querySelector('.gantt canvas').getBoundingClientRect())")
            page.mouse("mouseMoved", box[0] + box[2] * 0.5, box[1] + 6)
            page.mouse("mouseMoved", box[0] + box[2] * 0.52, box[1] + 6)
            self.assertTrue(page.js("document.querySelector('.tip').innerText").startswith("stage 0"))
            self.check_clean(page)
            self.picture(page, "does_not_fit", 1280)
            self.picture(page, "does_not_fit", 390)

    def test_chinese_by_language_of_the_browser(self):
        path = self.play("out")
        with browser.Browser(language="zh-CN") as page:
            page.open(path)
            self.assertEqual(page.js("document.documentElement.lang"), "zh")
            self.assertIn("峰值（含碎片）", page.js("document.body.innerText"))
            self.picture(page, "chinese", 1280)
            self.picture(page, "chinese", 390)
            page.js("[...document.querySelectorAll('.top button')][0].click()")
            self.assertEqual(page.js("document.documentElement.lang"), "en")
            self.check_clean(page)

    def test_two_runs_side_by_side(self):
        self.play("before")
        self.play("after", "--recompute")
        run = self.drydock("html", "before", "after", "--output=both.html")
        self.assertEqual((run.status, run.out), (2, ""))  # flags stand in front
        run = self.drydock("html", "--output=both.html", "before", "after")
        self.assertEqual((run.status, run.out), (0, "both.html\n"), run.err)
        peaks = [self.report("memory.json", folder)["classes"][0]["actual_peak_bytes"] for folder in ("before", "after")]
        with browser.Browser() as page:
            page.open(self.folder / "both.html")
            row = page.js("[...document.querySelectorAll('.compare tbody tr')].map(e => e.innerText).find(e => e.startsWith('peak with'))")
            self.assertIn("--recompute", page.js("document.querySelectorAll('.compare tbody tr')[1].innerText"))
            for peak in peaks:
                self.assertIn(page.js("%s(%d)" % (BYTES, peak)), row)
            page.js("document.querySelectorAll('.switch button')[1].click()")
            self.assertEqual(page.js("document.querySelector('.switch [aria-pressed=true]').innerText"), "after")
            self.check_clean(page)
            self.picture(page, "compare", 1280)
            self.picture(page, "compare", 390)

    def test_rejected_run_shows_the_line(self):
        self.write("net.py", command.network(shard="((3, 1), (1, 1))"))
        self.assertEqual(self.msrun("--worker_num=8", "--html", "--log_dir=out", "net.py").status, 6)
        self.assertEqual(self.files("out"), ["report.html", "summary.json"])
        with browser.Browser() as page:
            page.open(self.folder / "out/report.html")
            self.assertIn("self.mm = ops.MatMul().shard(((3, 1), (1, 1)))", page.js("document.querySelector('.excerpt .hit').innerText"))
            self.assertIn(self.report("summary.json", "out")["error"]["hint"], page.js("document.body.innerText"))
            self.check_clean(page)
            self.picture(page, "rejected", 1280)
            self.picture(page, "rejected", 390)


class PageFileTest(command.CommandTest):
    """What needs no browser."""

    def test_page_is_one_file_of_bounded_size(self):
        run = self.msrun("--worker_num=1024", "--log_dir=out", "--html", GPT)
        self.assertEqual(run.errors(), [], run.err)
        text = (self.folder / "out/report.html").read_text(encoding="utf-8")
        self.assertLess(len(text.encode()), 2_000_000)
        self.assertNotRegex(text.split("drydock-licences")[0], r"(src|href)=.?https?:")
        self.assertIn("report.html", self.report("summary.json", "out")["files"])

    def test_page_of_a_folder_equals_the_page_of_the_run(self):
        self.write("net.py", command.network())
        self.assert_accepted(self.msrun("--worker_num=8", "--html", "--log_dir=out", "net.py"))
        page = self.folder / "out/report.html"
        first = page.read_bytes()
        run = self.drydock("html", "out")
        self.assertEqual((run.status, run.out), (0, "out/report.html\n"), run.err)
        self.assertEqual(page.read_bytes().replace(b'"name":"out"', b'"name":""'), first)

    def test_folder_without_reports_is_refused(self):
        run = self.drydock("html", "nowhere")
        self.assertEqual(run.status, 3)
        self.assertIn("error[NO_REPORTS]: nowhere/summary.json is not there", run.err)
        (self.folder / "bad").mkdir()
        self.write("bad/summary.json", '{"schema": "drydock.summary/1"')
        self.assertEqual(self.drydock("html", "bad").status, 3)


if __name__ == "__main__":
    unittest.main()
