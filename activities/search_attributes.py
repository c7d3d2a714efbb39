"""The search attributes by which runs are found: registering them, and telling which of them a namespace has.

A workflow that upserts an attribute which the namespace lacks hangs for ever, so a run only uses those that were
found here when it was prepared. Not here: their values (the workflow sets them).
"""

from typing import Final

import structlog
from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from activities.contract import ATTRIBUTE_INTERVENTION, ATTRIBUTE_MODEL, ATTRIBUTE_SPEND, ATTRIBUTE_STATUS

ATTRIBUTES: Final = {
    ATTRIBUTE_STATUS: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    ATTRIBUTE_INTERVENTION: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    ATTRIBUTE_MODEL: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    ATTRIBUTE_SPEND: IndexedValueType.INDEXED_VALUE_TYPE_DOUBLE,
}

_EXPECTED: Final = (RPCStatusCode.ALREADY_EXISTS, RPCStatusCode.UNIMPLEMENTED, RPCStatusCode.PERMISSION_DENIED)
"""Answers that a worker may live with: others registered them, this server has none, or an administrator must."""

_log = structlog.stdlib.get_logger()


async def ensure_search_attributes(client: Client) -> None:
    """Register what is missing; where that is not possible, runs do without. Repeating it changes nothing."""
    request = AddSearchAttributesRequest(namespace=client.namespace, search_attributes=ATTRIBUTES)
    try:
        await client.operator_service.add_search_attributes(request)
    except RPCError as error:
        if error.status not in _EXPECTED:
            raise
        _log.info("search_attributes.not_registered", reason=error.status.name.lower())


async def existing_search_attributes(client: Client) -> tuple[str, ...]:
    """Those of ours that the namespace has with our type, sorted; none where the server cannot tell."""
    try:
        found = await client.operator_service.list_search_attributes(
            ListSearchAttributesRequest(namespace=client.namespace)
        )
    except RPCError as error:
        if error.status not in _EXPECTED:
            raise
        return ()
    custom = found.custom_attributes
    return tuple(sorted(name for name, kind in ATTRIBUTES.items() if custom.get(name) == kind))
