// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Analysis/AffineRanges.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <numeric>

using namespace mlir;

namespace deplo {

static int64_t divideFloor(int64_t a, int64_t b) {
  return llvm::divideFloorSigned(a, b);
}

static int64_t divideCeil(int64_t a, int64_t b) {
  return llvm::divideCeilSigned(a, b);
}

static std::optional<ValueRange64> add(ValueRange64 a, ValueRange64 b) {
  ValueRange64 sum;
  if (llvm::AddOverflow(a.min, b.min, sum.min) ||
      llvm::AddOverflow(a.max, b.max, sum.max))
    return std::nullopt;
  return sum;
}

static std::optional<ValueRange64> multiply(ValueRange64 a, ValueRange64 b) {
  int64_t products[4];
  if (llvm::MulOverflow(a.min, b.min, products[0]) ||
      llvm::MulOverflow(a.min, b.max, products[1]) ||
      llvm::MulOverflow(a.max, b.min, products[2]) ||
      llvm::MulOverflow(a.max, b.max, products[3]))
    return std::nullopt;
  auto [min, max] = std::minmax_element(products, products + 4);
  return ValueRange64{*min, *max};
}

/// Division by a positive constant, `divide` rounding down or up.
static std::optional<ValueRange64> divideRange(ValueRange64 a, ValueRange64 b,
                                               int64_t (*divide)(int64_t,
                                                                 int64_t)) {
  if (b.min != b.max || b.min <= 0)
    return std::nullopt;
  return ValueRange64{divide(a.min, b.min), divide(a.max, b.min)};
}

static std::optional<ValueRange64> remainder(ValueRange64 a, ValueRange64 b) {
  if (b.min != b.max || b.min <= 0)
    return std::nullopt;
  int64_t divisor = b.min;
  int64_t whole = divideFloor(a.min, divisor);
  if (whole == divideFloor(a.max, divisor))
    return ValueRange64{a.min - whole * divisor, a.max - whole * divisor};
  return ValueRange64{0, divisor - 1};
}

std::optional<ValueRange64> getRange(AffineExpr expr,
                                     ArrayRef<int64_t> extents) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr))
    return ValueRange64{constant.getValue(), constant.getValue()};
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    if (dim.getPosition() >= extents.size() || extents[dim.getPosition()] <= 0)
      return std::nullopt;
    return ValueRange64{0, extents[dim.getPosition()] - 1};
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return std::nullopt;
  std::optional<ValueRange64> lhs = getRange(binary.getLHS(), extents);
  std::optional<ValueRange64> rhs = getRange(binary.getRHS(), extents);
  if (!lhs || !rhs)
    return std::nullopt;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return add(*lhs, *rhs);
  case AffineExprKind::Mul:
    return multiply(*lhs, *rhs);
  case AffineExprKind::FloorDiv:
    return divideRange(*lhs, *rhs, divideFloor);
  case AffineExprKind::CeilDiv:
    return divideRange(*lhs, *rhs, divideCeil);
  case AffineExprKind::Mod:
    return remainder(*lhs, *rhs);
  default:
    return std::nullopt;
  }
}

static void collectTerms(AffineExpr expr, SmallVectorImpl<AffineExpr> &terms) {
  auto sum = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!sum || sum.getKind() != AffineExprKind::Add) {
    terms.push_back(expr);
    return;
  }
  collectTerms(sum.getLHS(), terms);
  collectTerms(sum.getRHS(), terms);
}

static AffineExpr getSum(ArrayRef<AffineExpr> terms, MLIRContext *context) {
  AffineExpr sum = getAffineConstantExpr(0, context);
  for (AffineExpr term : terms)
    sum = sum + term;
  return sum;
}

/// factor * expr.
static std::pair<AffineExpr, int64_t> getFactor(AffineExpr term) {
  auto product = dyn_cast<AffineBinaryOpExpr>(term);
  if (product && product.getKind() == AffineExprKind::Mul)
    if (auto factor = dyn_cast<AffineConstantExpr>(product.getRHS()))
      return {product.getLHS(), factor.getValue()};
  return {term, 1};
}

/// expr floordiv divisor, one division for two.
static AffineExpr divideFloor(AffineExpr expr, int64_t divisor) {
  auto quotient = dyn_cast<AffineBinaryOpExpr>(expr);
  if (quotient && quotient.getKind() == AffineExprKind::FloorDiv)
    if (auto inner = dyn_cast<AffineConstantExpr>(quotient.getRHS()))
      if (inner.getValue() > 0)
        return quotient.getLHS().floorDiv(inner.getValue() * divisor);
  return expr.floorDiv(divisor);
}

/// Puts numbers together that were taken apart:
/// (y floordiv d) * d * k + (y mod d) * k = y * k.
static AffineExpr recombine(AffineExpr sum) {
  SmallVector<AffineExpr> terms;
  collectTerms(sum, terms);
  for (auto *low = terms.begin(); low != terms.end(); ++low) {
    auto [digit, factor] = getFactor(*low);
    auto remainder = dyn_cast<AffineBinaryOpExpr>(digit);
    auto divisor = remainder && remainder.getKind() == AffineExprKind::Mod
                       ? dyn_cast<AffineConstantExpr>(remainder.getRHS())
                       : nullptr;
    if (!divisor || divisor.getValue() <= 0)
      continue;
    AffineExpr number = remainder.getLHS();
    AffineExpr rest =
        divideFloor(number, divisor.getValue()) * (divisor.getValue() * factor);
    auto *high = llvm::find(terms, rest);
    if (high == terms.end())
      continue;
    *low = number * factor;
    terms.erase(high);
    // The number may be a digit itself.
    return recombine(getSum(terms, sum.getContext()));
  }
  return sum;
}

namespace {
/// expr = quotient * divisor + rest, where 0 <= rest < divisor.
struct Division {
  AffineExpr quotient, rest;
};
} // namespace

/// Divides the terms of `expr` that are multiples of `divisor`; none unless the
/// other terms stay below it.
static std::optional<Division> divideInRange(AffineExpr expr, int64_t divisor,
                                             ArrayRef<int64_t> extents) {
  SmallVector<AffineExpr> terms, quotients, rests;
  collectTerms(expr, terms);
  for (AffineExpr term : terms) {
    if (term.isMultipleOf(divisor))
      quotients.push_back(term.floorDiv(divisor));
    else
      rests.push_back(term);
  }
  MLIRContext *context = expr.getContext();
  AffineExpr rest = getSum(rests, context);
  std::optional<ValueRange64> range = getRange(rest, extents);
  if (!range)
    return std::nullopt;
  int64_t whole = divideFloor(range->min, divisor);
  if (whole != divideFloor(range->max, divisor))
    return std::nullopt;
  return Division{getSum(quotients, context) + whole, rest - whole * divisor};
}

/// The divisors of `divisor` at which `expr` may come apart, largest first.
static SmallVector<int64_t> getInnerDivisors(AffineExpr expr, int64_t divisor) {
  SmallVector<AffineExpr> terms;
  collectTerms(expr, terms);
  SmallVector<int64_t> divisors;
  for (AffineExpr term : terms) {
    int64_t common = std::gcd(getFactor(term).second, divisor);
    if (common > 1 && common < divisor)
      divisors.push_back(common);
  }
  llvm::sort(divisors, std::greater<>());
  divisors.erase(std::unique(divisors.begin(), divisors.end()), divisors.end());
  return divisors;
}

/// (i * 8 + j) floordiv 32 = i floordiv 4 for j < 8.
static AffineExpr simplifyFloorDiv(AffineExpr expr, int64_t divisor,
                                   ArrayRef<int64_t> extents) {
  if (auto division = divideInRange(expr, divisor, extents))
    return division->quotient;
  for (int64_t inner : getInnerDivisors(expr, divisor))
    if (auto division = divideInRange(expr, inner, extents))
      return simplifyInRange(divideFloor(division->quotient, divisor / inner),
                             extents);
  return divideFloor(expr, divisor);
}

/// (i * 8 + j) mod 32 = (i mod 4) * 8 + j for j < 8.
static AffineExpr simplifyMod(AffineExpr expr, int64_t divisor,
                              ArrayRef<int64_t> extents) {
  if (auto division = divideInRange(expr, divisor, extents))
    return division->rest;
  for (int64_t inner : getInnerDivisors(expr, divisor))
    if (auto division = divideInRange(expr, inner, extents))
      return simplifyInRange(division->quotient % (divisor / inner), extents) *
                 inner +
             division->rest;
  return expr % divisor;
}

AffineExpr simplifyInRange(AffineExpr expr, ArrayRef<int64_t> extents) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return expr;
  AffineExpr lhs = simplifyInRange(binary.getLHS(), extents);
  AffineExpr rhs = simplifyInRange(binary.getRHS(), extents);
  auto divisor = dyn_cast<AffineConstantExpr>(rhs);
  bool divides = divisor && divisor.getValue() > 0;
  switch (expr.getKind()) {
  case AffineExprKind::Add:
    return recombine(lhs + rhs);
  case AffineExprKind::Mul:
    return lhs * rhs;
  case AffineExprKind::FloorDiv:
    return divides ? simplifyFloorDiv(lhs, divisor.getValue(), extents)
                   : lhs.floorDiv(rhs);
  case AffineExprKind::Mod:
    return divides ? simplifyMod(lhs, divisor.getValue(), extents) : lhs % rhs;
  case AffineExprKind::CeilDiv:
    return lhs.ceilDiv(rhs);
  default:
    return expr;
  }
}

AffineMap simplifyInRange(AffineMap map, ArrayRef<int64_t> extents) {
  MLIRContext *context = map.getContext();
  SmallVector<AffineExpr> dims;
  for (unsigned dim = 0; dim < map.getNumDims(); ++dim)
    dims.push_back(dim < extents.size() && extents[dim] == 1
                       ? getAffineConstantExpr(0, context)
                       : getAffineDimExpr(dim, context));
  SmallVector<AffineExpr> results;
  for (AffineExpr result : map.getResults())
    results.push_back(simplifyInRange(result.replaceDims(dims), extents));
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), results,
                        context);
}

static bool addLinear(AffineExpr expr, int64_t factor, LinearForm &form) {
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    form.constant += factor * constant.getValue();
    return true;
  }
  if (auto dim = dyn_cast<AffineDimExpr>(expr)) {
    form.coefficients[dim.getPosition()] += factor;
    return true;
  }
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary)
    return false;
  if (expr.getKind() == AffineExprKind::Add)
    return addLinear(binary.getLHS(), factor, form) &&
           addLinear(binary.getRHS(), factor, form);
  auto scale = dyn_cast<AffineConstantExpr>(binary.getRHS());
  return expr.getKind() == AffineExprKind::Mul && scale &&
         addLinear(binary.getLHS(), factor * scale.getValue(), form);
}

std::optional<LinearForm> getLinearForm(AffineExpr expr, unsigned numDims) {
  LinearForm form;
  form.coefficients.assign(numDims, 0);
  if (!addLinear(expr, 1, form))
    return std::nullopt;
  return form;
}

/// Whether `expr` is one dimension, or a digit of it.
static bool isDigit(AffineExpr expr) {
  if (isa<AffineDimExpr>(expr))
    return true;
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  return binary &&
         llvm::is_contained({AffineExprKind::FloorDiv, AffineExprKind::Mod},
                            expr.getKind()) &&
         isa<AffineConstantExpr>(binary.getRHS()) && isDigit(binary.getLHS());
}

bool dividesDimsOnly(AffineExpr expr) {
  auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
  if (!binary || isDigit(expr))
    return true;
  if (!llvm::is_contained({AffineExprKind::Add, AffineExprKind::Mul},
                          expr.getKind()))
    return false;
  return dividesDimsOnly(binary.getLHS()) && dividesDimsOnly(binary.getRHS());
}

AffineExpr linearize(AffineMap map, ArrayRef<int64_t> strides) {
  AffineExpr address = getAffineConstantExpr(0, map.getContext());
  for (auto [coordinate, stride] : llvm::zip_equal(map.getResults(), strides))
    address = address + coordinate * stride;
  return address;
}

AffineMap delinearize(AffineExpr position, ArrayRef<int64_t> shape,
                      unsigned numDims) {
  SmallVector<AffineExpr> coordinates;
  for (auto [size, stride] :
       llvm::zip_equal(shape, getRowMajorStrides(shape))) {
    AffineExpr coordinate = divideFloor(position, stride);
    coordinates.push_back(coordinates.empty() ? coordinate : coordinate % size);
  }
  return AffineMap::get(numDims, 0, coordinates, position.getContext());
}

AffineExpr getExpr(const LinearForm &form, MLIRContext *context) {
  AffineExpr expr = getAffineConstantExpr(form.constant, context);
  for (auto [dim, coefficient] : llvm::enumerate(form.coefficients))
    expr = expr + getAffineDimExpr(dim, context) * coefficient;
  return expr;
}

/// The linear form that agrees with the position of the elements at the origin
/// and next to it.
static LinearForm guessPosition(AffineMap map, ArrayRef<int64_t> shape,
                                ArrayRef<int64_t> extents) {
  SmallVector<int64_t> strides = getRowMajorStrides(shape);
  auto getPosition = [&](ArrayRef<int64_t> point) {
    int64_t position = 0;
    for (auto [coordinate, stride] :
         llvm::zip_equal(map.compose(point), strides))
      position += coordinate * stride;
    return position;
  };
  SmallVector<int64_t> point(map.getNumDims(), 0);
  LinearForm form;
  form.constant = getPosition(point);
  for (auto [dim, extent] : llvm::enumerate(extents)) {
    point[dim] = extent > 1;
    form.coefficients.push_back(getPosition(point) - form.constant);
    point[dim] = 0;
  }
  return form;
}

std::optional<LinearForm> getFlatForm(AffineMap map, ArrayRef<int64_t> shape,
                                      ArrayRef<int64_t> extents) {
  LinearForm guess = guessPosition(map, shape, extents);
  MLIRContext *context = map.getContext();
  AffineMap expected =
      delinearize(getExpr(guess, context), shape, map.getNumDims());
  if (simplifyInRange(expected, extents) == simplifyInRange(map, extents))
    return guess;
  return getLinearForm(
      simplifyInRange(linearize(map, getRowMajorStrides(shape)), extents),
      map.getNumDims());
}

SmallVector<int64_t> getRowMajorStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

} // namespace deplo
