"""Prints how many of a thousand bills are paid, and nobody pays a cent more than the next."""
import bill


def fair(total, people):
    shares = bill.shares(total, people)
    return sum(shares) == total and max(shares) - min(shares) <= 1


print(sum(fair(2000 + 37 * i, 2 + i % 9) for i in range(1000)))
