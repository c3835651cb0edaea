"""Who pays what of a bill."""


def shares(total, people):
    """What each of so many people pays of `total` cents; the last one pays what rounding left."""
    share = round(total / people)
    return [share] * (people - 1) + [total - share * (people - 1)]
