"""Who pays what of a bill."""
import pennies


def shares(total, people):
    """What each of so many people pays of `total` cents."""
    return pennies.split(total, people)
