"""The figures that the README quotes, re-runnable: `python -m benchmarks.NAME` in a checkout's root and environment.

Each prints a table; what was measured, on what and when, is in `README.md` beside this. Ratios and sizes only mean
something within one run, so what is compared is run side by side.
"""
