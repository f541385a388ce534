"""The evaluation engine: settings, blocks of rows, threads and accumulated counts."""
