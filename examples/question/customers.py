"""Who buys here."""

CUSTOMERS = ("Ada Lee, Dublin", "Grace Park, Seoul", "Mary Lee, Cork")


def find_customer(name: str) -> list[str]:
    """Find customers by a part of their name."""
    return [customer for customer in CUSTOMERS if name in customer]
