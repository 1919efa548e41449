"""One short exchange in each direction with further releases of MindSpore.

DRYDOCK_MINDSPORE_RELEASES lists them: "2.7.0=/path/to/python 2.9.0=...". Skipped without it.
"""

import os
import signal
import sys
import unittest

from mindspore_job import JobTest

ATTEMPTS = 3
RELEASES = dict(word.split("=", 1) for word in os.environ.get("DRYDOCK_MINDSPORE_RELEASES", "").split())


class ReleasesTest(JobTest):
    """Tests are added below, two for each release."""

    def its_workers_add_up_under_our_scheduler(self, python):
        for attempt in range(ATTEMPTS):
            # Nothing says the release: the scheduler finds it out.
            scheduler = self.scheduler(2, PATH=self.path_without_mindspore())
            statuses = self.statuses(self.workers(2, python=python))
            if statuses == [0, 0] or attempt + 1 == ATTEMPTS or not self.crashed_at_exit(statuses):
                break
            scheduler.kill()
            scheduler.wait()
            self.forget_logs()
        self.assertEqual(statuses, [0, 0], self.text("worker_0.log")[-3000:])
        self.assert_sum(2)
        self.assertEqual(self.end_of(scheduler), 0)

    def crashed_at_exit(self, statuses):
        """2.8.0 did so in one of some sixty runs, while its interpreter ended."""
        crashed = -signal.SIGSEGV in statuses and set(statuses) <= {0, -signal.SIGSEGV}
        if crashed and len(self.results(2)) == 2:
            print("a worker crashed after its last line: once more", file=sys.stderr)
            return True
        return False

    def forget_logs(self):
        for log in self.folder.glob("*.log"):
            log.unlink()

    def our_workers_are_served_by_its_scheduler(self, python):
        scheduler = self.its_scheduler(2, python)
        self.assertEqual(self.statuses(self.our_workers(2)), [0, 0], self.text("ours_0.log"))
        self.assertEqual(self.end_of(scheduler), 0)

    def path_without_mindspore(self):
        return str(self.folder)


def add_tests():
    for release, python in RELEASES.items():
        for direction in ("its_workers_add_up_under_our_scheduler", "our_workers_are_served_by_its_scheduler"):
            def test(self, python=python, direction=direction):
                getattr(self, direction)(python)
            setattr(ReleasesTest, "test_%s_%s" % (release.replace(".", "_"), direction), test)
    if not RELEASES:
        def test_releases(self):
            self.skipTest("no further release is installed (DRYDOCK_MINDSPORE_RELEASES)")
        ReleasesTest.test_releases = test_releases


add_tests()

if __name__ == "__main__":
    unittest.main()
