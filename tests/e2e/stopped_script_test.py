"""Scripts that do not end by themselves say where they are; breakpoints open the debugger on a terminal and are refused without one."""

import os
import pty
import select
import signal
import subprocess
import time

import command

LOOP = """net = Net()
found = 0.0
while found < 0.9:
    found = float(net(Tensor([[0.5] * 32] * 2, ms.float32)).sum())
"""
BREAK = """limit = 41
import pdb; pdb.set_trace()
Net()(Tensor([[0.5] * 32] * limit, ms.float32))
"""
SECONDS = 240


def network(tail):
    text = command.network()
    return text[:text.rindex("Net()(")] + tail


class StoppedScriptTest(command.CommandTest):
    def test_a_loop_that_waits_for_a_computed_value_is_our_limit(self):
        self.write("net.py", network(LOOP))
        run = self.msrun("--trace_timeout=10", "--log_dir=out", "net.py")
        self.assert_rejected(run, 8)
        # Whichever comes first, the end of the time or of the calls that are believed to have one.
        self.assertRegex(run.errors()[0], r"^net\.py:1[3-5](:\d+)?: unsupported: the script "
                                          r"(did not end within 10 s|calls its network 100000 times)")
        self.assertIn("mindspore.utils.dryrun.mock", run.hint())

    def test_interrupt_names_the_line(self):
        self.write("net.py", "import time\nopen('runs', 'w').close()\nwhile True:\n    time.sleep(0.01)\n")
        child = subprocess.Popen([command.MSRUN, "--sim_level=1", "--worker_num=8", "--python=python3", "net.py"], cwd=self.folder,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        limit = time.monotonic() + SECONDS
        while not (self.folder / "runs").exists() and time.monotonic() < limit:
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=SECONDS)
        self.assertEqual(child.returncode, 130)
        self.assertRegex(errors, r"net\.py:[34](:\d+)?: error: stopped while the script was running")

    def test_a_breakpoint_without_a_terminal_is_refused(self):
        for text in ("import pdb; pdb.set_trace()", "breakpoint()"):
            self.write("net.py", network("limit = 2\n" + text + "\n"))
            run = self.msrun("--log_dir=out", "net.py")
            self.assert_rejected(run, 6)
            self.assertRegex(run.errors()[0], r"^net\.py:13(:\d+)?: error: RuntimeError: a breakpoint, but the dry run has no terminal")

    def test_a_breakpoint_on_a_terminal_opens_the_debugger(self):
        self.write("net.py", network(BREAK))
        child, terminal = pty.fork()
        if child == 0:
            os.chdir(self.folder)
            os.execv(command.MSRUN, [command.MSRUN, "--sim_level=1", "--worker_num=8", "--python=python3", "--log_dir=out", "net.py"])
        try:
            self.assertIn("(Pdb)", self.read_until(terminal, "(Pdb)"))
            os.write(terminal, b"p limit + 1\n")
            self.assertIn("42", self.read_until(terminal, "(Pdb)").replace("limit + 1", ""))
            os.write(terminal, b"limit = 2\n")
            self.read_until(terminal, "(Pdb)")
            os.write(terminal, b"c\n")
            self.assertIn("ok: the programs of 8 ranks", self.read_until(terminal, "reports in"))
            self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
            child = 0
        finally:
            os.close(terminal)
            if child:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)

    @staticmethod
    def read_until(terminal, text):
        """What the terminal shows up to and with the text; less when nothing more comes."""
        shown, limit = "", time.monotonic() + SECONDS
        while text not in shown and time.monotonic() < limit:
            ready, _, _ = select.select([terminal], [], [], 1.0)
            if not ready:
                continue
            try:
                part = os.read(terminal, 4096)
            except OSError:  # the other end is closed
                break
            shown += part.decode(errors="replace")
        return shown


if __name__ == "__main__":
    command.unittest.main()
