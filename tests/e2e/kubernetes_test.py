"""The manifests of docs/examples/kubernetes: every field is one of its schema (facts in tests/vectors/kubernetes/fields.json), and the
commands of their pods run, each pod a network namespace with the variables that its controller sets."""

import json
import os
import re
import shlex
import subprocess
import sys
import unittest

import command
import launch
import launch_two_nodes_test

try:
    import yaml
except ImportError:
    yaml = None

FOLDER = command.SOURCE / "docs/examples/kubernetes"
VECTORS = os.environ.get("DRYDOCK_VECTORS") or str(command.SOURCE / "tests/vectors")
SHOW = 'import os\nprint("PLACE", *(os.environ[name] for name in ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR")))\n'
POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
NO_YAML = "no PyYAML (package python3-yaml)"


def faults(value, kind, objects, place):
    """Lines that say where `value` is not of its kind."""
    if kind.startswith("list:"):
        good = isinstance(value, list)
        inner = [fault for i, item in enumerate(value if good else []) for fault in faults(item, kind[5:], objects, "%s[%d]" % (place, i))]
    elif kind.startswith("map:"):
        good = isinstance(value, dict)
        inner = [fault for name, item in (value.items() if good else ()) for fault in faults(item, kind[4:], objects, place + "." + name)]
    elif kind.startswith("one of "):
        good, inner = value in kind.split()[2:], []
    elif kind in ("text", "number", "bool"):
        good, inner = type(value) is {"text": str, "number": int, "bool": bool}[kind], []
    else:
        fields = {name.rstrip("!"): (field, name.endswith("!")) for name, field in objects[kind].items()}
        good = isinstance(value, dict)
        given = value if good else {}
        inner = ["%s: no field '%s'" % (place, name) for name in given if name not in fields]
        inner += ["%s: '%s' is missing" % (place, name) for name, (_, needed) in fields.items() if needed and name not in given]
        for name, item in given.items():
            if name in fields:
                inner += faults(item, fields[name][0], objects, place + "." + name)
    return inner if good else ["%s: %r is no %s" % (place, value, kind)]


@unittest.skipUnless(yaml, NO_YAML)
class SchemaTest(unittest.TestCase):
    def setUp(self):
        with open(VECTORS + "/kubernetes/fields.json", encoding="utf-8") as file:
            self.facts = json.load(file)

    def faults_of(self, document):
        kind = self.facts["kinds"].get("%s %s" % (document.get("apiVersion"), document.get("kind")))
        return faults(document, kind, self.facts["objects"], document["kind"]) if kind else ["unknown kind"]

    def test_every_field_is_one_of_the_schema(self):
        names = sorted(path.name for path in FOLDER.glob("*.yaml"))
        self.assertEqual(names, ["indexed_job.yaml", "mpi_job.yaml", "pytorch_job.yaml", "volcano_job.yaml"])
        for name in names:
            for document in yaml.safe_load_all((FOLDER / name).read_text()):
                self.assertEqual(self.faults_of(document), [], name)

    def test_the_check_finds_what_is_wrong(self):
        document = list(yaml.safe_load_all((FOLDER / "indexed_job.yaml").read_text()))[1]
        document["spec"]["completionmode"] = "Indexed"
        document["spec"]["completions"] = "2"
        del document["spec"]["template"]["spec"]["containers"][0]["name"]
        self.assertEqual(len(self.faults_of(document)), 3, self.faults_of(document))


@unittest.skipUnless(yaml, NO_YAML)
@unittest.skipIf(launch_two_nodes_test.REASON, launch_two_nodes_test.REASON)
class PodTest(launch.LaunchTest):
    def containers(self, name):
        """Commands of all containers of a manifest, in order."""
        found = []

        def walk(value):
            if isinstance(value, dict):
                found.extend(container["command"] for container in value.get("containers", []))
                value = list(value.values())
            for item in value if isinstance(value, list) else []:
                walk(item)
        for document in yaml.safe_load_all((FOLDER / name).read_text()):
            walk(document)
        return found

    def run_pods(self, words, variables):
        """Both pods with the manifest's command; the image's paths become those of this machine."""
        self.write("net.py", SHOW)
        commands = []
        for index, (pod, own) in enumerate(zip(words, variables)):
            self.assertEqual(pod[0], "msrun")
            pod = [command.MSRUN, "--python=" + sys.executable, "--rendezvous=launcher", *pod[1:]]
            pod = [word.replace("/logs", "logs%d" % index).replace("/app/net.py", "net.py").replace("train-0.train", "10.77.0.1")
                   for word in pod]
            commands.append(" ".join("%s=%s" % item for item in {**POD, **own}.items()) + " " + shlex.join(pod))
        done = subprocess.run([launch_two_nodes_test.SCRIPT, *commands], cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=2 * launch.SECONDS, env=self.variables(), check=False)
        self.assertTrue(re.search(r"^statuses 0 0$", done.stdout, re.M), done.stdout[-3000:])
        for rank in range(16):
            self.assertEqual(self.log("logs%d/worker_%d.log" % (rank // 8, rank)), "PLACE %d 16 %d 10.77.0.1\n" % (rank, rank % 8))

    def test_indexed_job(self):
        words = self.containers("indexed_job.yaml")
        self.run_pods(words * 2, [{"JOB_COMPLETION_INDEX": str(index)} for index in (0, 1)])

    def test_pytorch_job(self):
        common = {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "8", "PET_MASTER_ADDR": "10.77.0.1", "PET_MASTER_PORT": "23456"}
        self.run_pods(self.containers("pytorch_job.yaml"), [dict(common, PET_NODE_RANK=str(index)) for index in (0, 1)])

    def test_volcano_job(self):
        common = {"VC_WORKER_HOSTS": "10.77.0.1,10.77.0.2", "VC_WORKER_NUM": "2"}
        self.run_pods(self.containers("volcano_job.yaml") * 2, [dict(common, VC_TASK_INDEX=str(index)) for index in (0, 1)])


if __name__ == "__main__":
    unittest.main()
