import unittest

import bill


class Shares(unittest.TestCase):
    def test_one_pays_everything(self):
        self.assertEqual(bill.shares(1999, 1), [1999])

    def test_two_pay_half(self):
        self.assertEqual(bill.shares(3000, 2), [1500, 1500])

    def test_the_bill_is_paid(self):
        self.assertEqual(sum(bill.shares(1000, 3)), 1000)


if __name__ == "__main__":
    unittest.main()
