"""Search attributes on real servers: registered once, told as they are, done without where a server has none."""

from collections.abc import AsyncIterator

import pytest
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest
from temporalio.client import Client
from temporalio.testing import WorkflowEnvironment

from activities.search_attributes import ensure_search_attributes, existing_search_attributes
from commands.server import program

ALL = ("EndstopIntervention", "EndstopModel", "EndstopSpendUsd", "EndstopStatus")


@pytest.fixture
async def bare() -> AsyncIterator[Client]:
    """A server on which nobody registered anything."""
    path = str(program())
    async with await WorkflowEnvironment.start_local(
        dev_server_existing_path=path, dev_server_log_level="never"
    ) as env:
        yield env.client


async def test_a_worker_registers_them_and_another_that_starts_later_changes_nothing(bare):
    assert await existing_search_attributes(bare) == ()
    await ensure_search_attributes(bare)
    await ensure_search_attributes(bare)
    assert await existing_search_attributes(bare) == ALL


async def test_one_that_somebody_made_with_another_type_is_not_used(bare):
    wrong = {"EndstopModel": IndexedValueType.INDEXED_VALUE_TYPE_INT}
    await bare.operator_service.add_search_attributes(
        AddSearchAttributesRequest(namespace=bare.namespace, search_attributes=wrong)
    )
    await ensure_search_attributes(bare)
    assert await existing_search_attributes(bare) == tuple(name for name in ALL if name != "EndstopModel")


async def test_a_server_that_has_none_is_lived_with():
    path = str(program().with_name("temporal-test-server"))
    async with await WorkflowEnvironment.start_time_skipping(test_server_existing_path=path) as env:
        await ensure_search_attributes(env.client)
        await ensure_search_attributes(env.client)
        assert await existing_search_attributes(env.client) == ()
