"""What a worker does once, before it takes work, so that no call pays for it later. Not here: warming the clients.

Why: the first use of what is loaded would otherwise stop the loop, heartbeats included, in the middle of a call.
"""

import gc


def settle_memory() -> None:
    """Take what is loaded by now out of the garbage collector's rounds.

    It stays as long as the worker does, and walking through three vendors' SDKs again and again would stop the loop,
    heartbeats included, for 0.1 to 0.4 s each time (`benchmarks/calls.py`).
    """
    gc.collect()
    gc.freeze()
