"""Kernels of scripts/programs/record.py: the trace's rows and ncu name them in ways of their own."""

import importlib.util
import sys
import unittest
from pathlib import Path

SPEC = importlib.util.spec_from_file_location(
    "record_programs", Path(__file__).parents[2] / "scripts" / "programs" / "record.py"
)
record = importlib.util.module_from_spec(SPEC)
sys.modules[SPEC.name] = record
SPEC.loader.exec_module(record)


class Names(unittest.TestCase):
    def test_of_ncu_and_of_rows_are_the_same(self):
        for by_ncu, of_row in (
            ("_ZN37_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji", "_ZN21_GLOBAL__N__sample_cu4fillEPji"),
            ("_ZN3ns237_GLOBAL__N__303738f4_9_sample_cu_main4fillEPji", "_ZN3ns221_GLOBAL__N__sample_cu4fillEPji"),
            ("_ZN3cub17CUB_300001_SM_9006detail4scanEvv", "_ZN3cub10CUB_3000016detail4scanEvv"),
        ):
            self.assertEqual(record.of_any_build(by_ncu), record.of_any_build(of_row))
        self.assertEqual(record.of_any_build("_Z6reducePf"), "_Z6reducePf")
        self.assertNotEqual(record.of_any_build("_ZN3cub4scanEvv"), record.of_any_build("_ZN3cub4sortEvv"))


if __name__ == "__main__":
    unittest.main()
