"""Splits bills."""


def shares(total, people):
    """Splits `total` cents between `people`; the last one pays what rounding left."""
    share = round(total / people)
    return [share] * (people - 1) + [total - share * (people - 1)]
