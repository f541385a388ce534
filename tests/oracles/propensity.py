"""Inverse propensities by the operations of the reference code, each rounded once."""

from decimal import Context, Decimal

DIGITS = Context(prec=60)


def log(number: float) -> Decimal:
    return DIGITS.ln(Decimal(number))


def power(base: float, exponent: float) -> float:
    product = DIGITS.multiply(Decimal(exponent), log(base))
    return float(DIGITS.exp(product))


def rounded_once(count: int, n: int, a: float = 0.55, b: float = 1.5) -> float:
    """1 + C (count + b)^-a, where C = (ln n - 1) (b + 1)^a."""
    scale = (float(log(n)) - 1.0) * power(b + 1.0, a)
    return 1.0 + scale * power(count + b, -a)
