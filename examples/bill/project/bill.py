"""Splits bills."""
import pennies


def shares(total, people):
    """Splits `total` cents between `people`."""
    return pennies.split(total, people)
