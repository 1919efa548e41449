"""Completion in the shells themselves: the installed scripts, sourced by bash, zsh and fish, offer the flags of the table."""

import os
import shutil
import subprocess
import unittest
from pathlib import Path

import command

SCRIPTS = Path(__file__).resolve().parents[2] / "cmake/completions"
PROGRAM = Path(command.MSRUN).parent / "drydock"

BASH = """
source {script}
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_drydock
printf '%s\\n' "${{COMPREPLY[@]}}"
"""

# A shell on a terminal, where the tabulator is pressed behind half a flag.
ZSH = r"""
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; autoload -Uz compinit; compinit -u -D; source $1"
zpty -w shell "print rea''dy"
while zpty -r shell part && [[ $part != *ready* ]]; do :; done
zpty -w -n shell $'msrun --sim_l\t'
repeat 600; do
  if zpty -r -t shell part; then seen+=$part; [[ $seen == *--sim_level* ]] && break; else sleep 0.1; fi
done
print -r -- "$seen"
zpty -d shell
"""


class CompletionTest(command.CommandTest):
    def shell(self, *line):
        environment = dict(command.environment(self.temporary))
        environment["PATH"] = "%s:%s" % (PROGRAM.parent, environment.get("PATH", os.defpath))
        done = subprocess.run(line, cwd=self.folder, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=command.SECONDS, check=False)
        self.assertEqual(done.returncode, 0, done.stdout.decode())
        return done.stdout.decode().split("\n")[:-1]

    def bash(self, words):
        return [line for line in self.shell("bash", "-c", BASH.format(script=SCRIPTS / "drydock.bash", words=words)) if line]

    def test_installed_scripts_are_those_of_the_program(self):
        for shell, name in (("bash", "drydock.bash"), ("zsh", "_drydock"), ("fish", "drydock.fish")):
            printed = subprocess.run([PROGRAM, "completion", shell], check=True, stdout=subprocess.PIPE).stdout.decode()
            self.assertEqual((SCRIPTS / name).read_text(), printed,
                             "run 'drydock completion %s > cmake/completions/%s'" % (shell, name))

    def test_bash_offers_flags_commands_and_leaves_files_to_the_shell(self):
        self.assertEqual(self.bash("msrun --sim_l"), ["--sim_level"])
        self.assertIn("--worker_num", self.bash("/opt/bin/msrun --log_dir out --w"))
        self.assertEqual(self.bash("drydock sched"), ["scheduler"])
        self.assertEqual(self.bash("drydock msrun --sim_l"), ["--sim_level"])
        self.assertEqual(self.bash("msrun --log_dir ''"), [])  # a value
        self.assertEqual(self.bash("msrun net.py --sim_l"), [])  # the script's own flag

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_loads_the_script(self):
        lines = self.shell("zsh", "-f", "-c", "autoload -Uz compinit; compinit -u -D; source %s; print -r -- $_comps[msrun]"
                           % (SCRIPTS / "_drydock"))
        self.assertEqual(lines[-1:], ["_drydock"])

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh_completes_a_flag_on_a_terminal(self):
        self.write("keys.zsh", ZSH)
        seen = "\n".join(self.shell("zsh", "-f", "keys.zsh", str(SCRIPTS / "_drydock")))
        self.assertIn("msrun --sim_level", seen)

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish_offers_flags_with_their_meaning(self):
        lines = self.shell("fish", "--no-config", "-c", "source %s; complete -C 'msrun --sim_l'" % (SCRIPTS / "drydock.fish"))
        self.assertEqual([line.split("\t")[0] for line in lines], ["--sim_level"])
        self.assertGreater(len(lines[0].split("\t")[1]), 10)


if __name__ == "__main__":
    unittest.main()
