"""Money in whole cents."""


def split(total, people):
    """Shares of `total` for so many people."""
    return [total // people] * people
