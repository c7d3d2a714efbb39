"""The keys that content is encrypted with. No SQL and no Temporal: the store and the codec use what is here."""

from encryption.keys import CLEAR, AlteredError, Encryption, KeyMissing, Keys, NotKeys, new_key

__all__ = ["CLEAR", "AlteredError", "Encryption", "KeyMissing", "Keys", "NotKeys", "new_key"]
