# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Scalar formulas of special functions, in f32, and of divisors of integers."""

import math
from collections.abc import Sequence

import torch

from .dtypes import INTEGERS, TORCH_DTYPES
from .scalars import Region, Scalar, not_of

LOG_SQRT_2_PI = 0.91893853320467274


def polynomial(s: Region, x: Scalar, coefficients: Sequence[float]) -> Scalar:
    """Of rising powers, by Horner's rule."""
    *rest, last = coefficients
    result = s.constant(last, x.dtype)
    for coefficient in reversed(rest):
        result = s.fma(result, x, s.constant(coefficient, x.dtype))
    return result


# Gamma and its kin

# lgamma(2 + e) / e on [-1, 1], to 2e-10.
_NEAR_TWO = (
    4.227843352e-1, 3.224670357e-1, -6.735231039e-2, 2.058072333e-2, -7.385379021e-3,
    2.891406312e-3, -1.193968339e-3, 5.055496417e-4, -2.189470134e-4, 1.090221988e-4,
    -5.276303769e-5, 9.001430901e-6, -1.590279845e-6, 1.085143933e-5, -5.786824732e-6,
)  # fmt: skip
# z (lgamma(z) - Stirling's formula) by 1 / z^2 for z >= 3, to 6e-10.
_STIRLING = (8.333333273e-2, -2.777595249e-3, 7.849326752e-4, -4.55705825e-4)
# z^2 (log z - 1 / 2z - digamma(z)) by 1 / z^2 for z >= 6, to 3e-11.
_DIGAMMA = (8.33333333e-2, -8.333298788e-3, 3.961901974e-3, -3.787039529e-3)
_DIGAMMA_FROM = 6


def _beyond_integer(s: Region, z: Scalar) -> Scalar:
    """z less the nearest integer: exact, and all that functions of pi z depend on."""
    return z - s.unary("roundeven", z)


def lgamma(s: Region, x: Scalar) -> Scalar:
    """log |gamma(x)|. Below 3 by a polynomial, which keeps the zeros at 1 and 2; below 0
    by gamma(x) gamma(-x) = -pi / (x sin(pi x))."""
    z = s.abs(x)
    is_low = z < 1.5
    e = z - s.select(is_low, 1.0, s.constant(2.0, x.dtype))
    near = e * polynomial(s, s.min(e, 1.0), _NEAR_TWO)
    logarithm = s.unary("log", z)
    near = s.select(is_low, near - logarithm, near)
    large = s.max(z, 3.0)
    inverse = 1.0 / large
    series = polynomial(s, inverse * inverse, _STIRLING)
    far = s.fma(large - 0.5, logarithm - 1.0, inverse * series + (LOG_SQRT_2_PI - 0.5))
    positive = s.select(z < 3.0, near, far)
    rest = _beyond_integer(s, x)
    sine = s.abs(s.unary("sin", rest * math.pi))
    negative = math.log(math.pi) - s.unary("log", sine) - logarithm - positive
    result = s.select(x < 0, negative, positive)
    result = s.select(z < 2.0**-30, s.neg(logarithm), result)  # pi x may be subnormal there
    is_pole = (x < 0) & rest.equals(0)
    return s.select(is_pole | z.equals(math.inf), math.inf, result)


def digamma(s: Region, x: Scalar) -> Scalar:
    """The derivative of lgamma. Steps of digamma(z) = digamma(z + 1) - 1 / z to where a
    series is good; below 0 by digamma(x) = digamma(1 - x) - pi / tan(pi x)."""
    z = s.select(x < 0, 1.0 - x, x)
    below = s.constant(0.0, x.dtype)
    for _ in range(_DIGAMMA_FROM):
        is_small = z < _DIGAMMA_FROM
        below = s.select(is_small, below + 1.0 / z, below)
        z = s.select(is_small, z + 1.0, z)
    inverse = 1.0 / z
    square = inverse * inverse
    series = s.fma(square, polynomial(s, square, _DIGAMMA), inverse * 0.5)
    positive = s.unary("log", z) - series - below
    rest = _beyond_integer(s, x)
    reflected = positive - math.pi / s.unary("tan", rest * math.pi)
    result = s.select(x < 0, reflected, positive)
    is_pole = rest.equals(0) & (x < 0)
    pole = s.binary("copysign", s.constant(math.inf, x.dtype), s.neg(x))
    result = s.select(x.equals(0), pole, s.select(is_pole, math.nan, result))
    return s.select(x.equals(-math.inf), math.nan, result)


# Inverse of the error function (Giles, 2010): polynomials in -log(1 - x^2).
_CENTER = (
    1.50140941, 0.246640727, -0.00417768164, -0.00125372503, 0.00021858087,
    -4.39150654e-06, -3.5233877e-06, 3.43273939e-07, 2.81022636e-08,
)  # fmt: skip
_TAIL = (
    2.83297682, 1.00167406, 0.00943887047, -0.0076224613, 0.00573950773,
    -0.00367342844, 0.00134934322, 0.000100950558, -0.000200214257,
)  # fmt: skip


def erfinv(s: Region, x: Scalar) -> Scalar:
    w = s.neg(s.unary("log", (1.0 - x) * (x + 1.0)))
    center = polynomial(s, s.min(w, 5.0) - 2.5, _CENTER)
    tail = polynomial(s, s.unary("sqrt", s.max(w, 5.0)) - 3.0, _TAIL)
    result = s.select(w < 5.0, center, tail) * x
    end = s.binary("copysign", s.constant(math.inf, x.dtype), x)
    return s.select(s.abs(x).equals(1.0), end, result)


# Modified Bessel functions

# e^-x sqrt(x) times the function, by 8 / x for x >= 8, to 2e-9.
_BESSEL = (
    (3.989422809e-1, 6.233426195e-3, 4.389908059e-4, 5.319300464e-5, 2.083452609e-5,
     -9.368227236e-6, 6.984615346e-6),
    (3.989422798e-1, -1.870036638e-2, -7.312787308e-4, -7.550590577e-5, -2.524578548e-5,
     1.030397626e-5, -7.919836711e-6),
)  # fmt: skip
_BESSEL_TERMS = 19


def bessel_i(s: Region, x: Scalar, order: int, is_scaled: bool) -> Scalar:
    """I0 or I1, times e^-|x| if scaled: the power series up to 8, whose terms are all
    positive, and the asymptotic one beyond."""
    z = s.abs(x)
    terms = [1.0 / (math.factorial(k) * math.factorial(k + order)) for k in range(_BESSEL_TERMS)]
    small = s.min(z, 8.0)
    half = small * 0.5
    near = polynomial(s, half * half, terms)
    near = near * half if order else near
    large = s.max(z, 8.0)
    far = polynomial(s, 8.0 / large, _BESSEL[order]) * s.unary("rsqrt", large)
    if is_scaled:
        result = s.select(z < 8.0, near * s.unary("exp", s.neg(small)), far)
    else:
        root = s.unary("exp", large * 0.5)  # e^x alone overflows before the product does
        result = s.select(z < 8.0, near, far * root * root)
        result = s.select(z.equals(math.inf), math.inf, result)
    result = s.select(s.is_nan(x), x, result)
    return s.select(x < 0, s.neg(result), result) if order else result


# Parts of numbers


def frexp(s: Region, x: Scalar) -> tuple[Scalar, Scalar]:
    """m and e with x = m 2^e and 0.5 <= |m| < 1; what is not finite, and 0, is its own m."""
    is_small = s.abs(x) < 2.0**-126
    scaled = s.select(is_small, x * 2.0**24, x)
    bits = s.bits(scaled)
    biased = s.binary("shr", bits, 23) & 0xFF
    exponent = biased - s.select(is_small, 126 + 24, s.constant(126, "i32"))
    mantissa = s.real((bits & ~(0xFF << 23)) | (126 << 23))
    is_plain = x.differs(0) & (s.abs(x) < math.inf)
    return s.select(is_plain, mantissa, x), s.select(is_plain, exponent, 0)


def angle(s: Region, x: Scalar) -> Scalar:
    """Of a real number: 0 or pi."""
    return s.select(s.is_nan(x), x, s.select(x < 0, math.pi, s.constant(0.0, x.dtype)))


# Divisors


def _most_divisions(dtype: str) -> int:
    """Of Euclid's algorithm: neighbours among Fibonacci's numbers take most, and one more
    division swaps them."""
    largest = torch.iinfo(TORCH_DTYPES[dtype]).max
    a, b, count = 1, 2, 1
    while a + b <= largest:
        a, b, count = b, a + b, count + 1
    return count + 1


def gcd(s: Region, x: Scalar, y: Scalar) -> Scalar:
    if x.dtype not in INTEGERS:
        raise not_of(x.dtype)
    x, y = s.abs(x), s.abs(y)
    for _ in range(_most_divisions(x.dtype)):
        is_done = y.equals(0)
        rest = s.select(is_done, 0, x - x / s.select(is_done, 1, y) * y)
        x, y = s.select(is_done, x, y), rest
    return x  # below 0 only beside the lowest number, which has no absolute value


def lcm(s: Region, x: Scalar, y: Scalar) -> Scalar:
    """Bytes in i32, as C promotes them."""
    divisor = gcd(s, x, y)
    divisor = s.select(divisor.equals(0), 1, divisor)
    wide = "i32" if x.dtype in ("i8", "u8") else x.dtype
    x, y, divisor = (s.convert(v, wide) for v in (x, y, divisor))
    return s.abs(x / divisor * y)
