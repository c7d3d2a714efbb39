"""kill -9 of a worker at every step of a call, a tool and a gate: nothing is paid twice, no outcome is made up.

(FAULTS 1, 2, 3; I1-I8.) The table is in `kills`; it is printed by `python -m benchmarks.kills`.
"""

from pathlib import Path

import pytest
from temporalio.client import Client

from tests.faults.killing import killed
from tests.faults.kills import KILLS, Kill


@pytest.mark.full
@pytest.mark.parametrize("kill", KILLS.values(), ids=KILLS)
async def test_a_run_survives_the_death_of_its_worker(
    kill: Kill, client: Client, temporal_server: str, tmp_path: Path
) -> None:
    survived = await killed(kill, client, temporal_server, tmp_path)
    assert survived.fits(kill), survived
