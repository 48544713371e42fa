"""Helpers shared by the tests: operands, references with error bounds, guard bands, shapes."""
