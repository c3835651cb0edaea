"""Money in whole cents."""


def split(total, people):
    """Shares of `total` for so many people, as equal as cents can be; no cent is lost."""
    share, rest = divmod(total, people)
    return [share + 1] * rest + [share] * (people - rest)
