"""A soak of 90 s: runs under constant faults (FAULTS layer d). `python -m benchmarks.soak` soaks for longer."""

import asyncio
import sys

import pytest

from tests.faults.conftest import ROOT

SEED = 20261130
"""Draws the same models, agents and words every time; what meets what is up to the machine."""


@pytest.mark.full
@pytest.mark.timeout(1800)
async def test_runs_under_constant_faults_end_and_lose_pay_and_repeat_nothing() -> None:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.soak", "--minutes", "1.5", "--seed", str(SEED)),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    assert f"seed {SEED}: 0 violations" in said.decode()
