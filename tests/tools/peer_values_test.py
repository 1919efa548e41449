"""The second column of the peer suite: which tests assert values, and when those are ours."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "peer"))
import peer_judge  # noqa: E402
import peer_values  # noqa: E402

SOURCE = """
def compile_net(net):
    net.compile()

def look(net):
    if net.strategy != 2:
        raise AssertionError("no")

class TestA:
    def expect(self, count):
        assert count == 3

    def test_by_a_method(self):
        self.expect(2)

def test_compiles():
    compile_net(1)

def test_asserts():
    assert compile_net(1) == 4

def test_nothing():
    assert True

def test_raises_by_a_helper():
    look(1)

def test_by_the_suites_checker():
    validate_layout(1)
"""


def instance(raw="passed", asserts=1):
    return {"raw": raw, "evidence": {"asserts": asserts, "checks": 0}}


class PeerValuesTest(unittest.TestCase):
    def test_functions_that_assert_by_themselves_or_through_others_of_the_file(self):
        found = peer_values.asserting_functions(SOURCE)
        self.assertEqual({name for name in found if name.startswith("test_")},
                         {"test_by_a_method", "test_asserts", "test_raises_by_a_helper", "test_by_the_suites_checker"})

    def test_values_are_ours_if_every_instance_reached_its_assertions(self):
        self.assertTrue(peer_judge.values_are_ours([instance(), instance()]))
        self.assertFalse(peer_judge.values_are_ours([instance(), instance("failed")]))
        self.assertFalse(peer_judge.values_are_ours([instance(asserts=0)]))
        self.assertFalse(peer_judge.values_are_ours([]))


if __name__ == "__main__":
    unittest.main()
