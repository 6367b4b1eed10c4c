// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Tile/Analysis/GatherAccess.h"

#include "deplo/Dialect/Tile/Analysis/BoxAccess.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace deplo::tile {

//===----------------------------------------------------------------------===//
// Progressions
//===----------------------------------------------------------------------===//

static Progression getExactly(int64_t value) { return {0, 0, value}; }

static std::optional<int64_t> getSplat(Value tile) {
  APInt value;
  if (!matchPattern(tile, m_ConstantInt(&value)))
    return std::nullopt;
  return value.getSExtValue();
}

static Progression operator+(Progression a, Progression b) {
  return {a.step + b.step, std::gcd(a.modulus, b.modulus),
          a.residue + b.residue};
}

static Progression operator*(Progression a, int64_t factor) {
  return {a.step * factor, a.modulus * std::abs(factor), a.residue * factor};
}

static std::optional<Progression> multiply(Progression a, Progression b) {
  if (b.step == 0 && b.modulus == 0)
    return a * b.residue;
  if (a.step == 0 && a.modulus == 0)
    return b * a.residue;
  if (a.step != 0 || b.step != 0)
    return std::nullopt;
  return Progression{};
}

/// Whether `divisor` divides no run of `width` elements: their quotients are
/// equal and their remainders progress alike.
static bool staysBelow(Progression a, int64_t divisor, int64_t width) {
  if (a.step == 0)
    return true;
  int64_t length = a.step * width;
  return a.step > 0 && a.isFirstMultipleOf(length) && divisor % length == 0;
}

static std::optional<Progression> divide(Progression a, int64_t divisor,
                                         int64_t width, bool wantsRemainder) {
  if (divisor <= 0 || !staysBelow(a, divisor, width))
    return std::nullopt;
  if (wantsRemainder)
    return Progression{a.step, std::gcd(a.modulus, divisor), a.residue};
  if (a.isFirstMultipleOf(divisor))
    return Progression{0, a.modulus / divisor, a.residue / divisor};
  return Progression{};
}

namespace {

/// Answers about runs of one width. Values are looked at once each.
class Runs {
public:
  explicit Runs(int64_t width) : width(width) {}

  std::optional<Progression> getProgression(Value tile, unsigned dim);
  bool isUniform(Value tile, unsigned dim);

private:
  std::optional<Progression> computeProgression(Value tile, unsigned dim);
  bool computeUniform(Value tile, unsigned dim);
  Progression getCommonForm(Value tile);
  Progression computeCommonForm(Value tile);
  bool isConstantAlong(Value operand, unsigned dim);

  int64_t width;
  DenseMap<std::pair<Value, unsigned>, std::optional<Progression>> progressions;
  DenseMap<std::pair<Value, unsigned>, bool> uniform;
  DenseMap<Value, Progression> common;
};

} // namespace

Progression Runs::getCommonForm(Value tile) {
  if (auto known = common.find(tile); known != common.end())
    return known->second;
  Progression form = computeCommonForm(tile);
  return common[tile] = form;
}

std::optional<Progression> Runs::getProgression(Value tile, unsigned dim) {
  auto known = progressions.find({tile, dim});
  if (known != progressions.end())
    return known->second;
  std::optional<Progression> form = computeProgression(tile, dim);
  return progressions[{tile, dim}] = form;
}

bool Runs::isUniform(Value tile, unsigned dim) {
  if (auto known = uniform.find({tile, dim}); known != uniform.end())
    return known->second;
  bool result = computeUniform(tile, dim);
  return uniform[{tile, dim}] = result;
}

/// Whether `operand` of an elementwise operation is the same in each run.
bool Runs::isConstantAlong(Value operand, unsigned dim) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  if (!type)
    return true;
  if (type.getElementType().isInteger(1))
    return isUniform(operand, dim);
  auto form = getProgression(operand, dim);
  return form && form->step == 0;
}

/// Along a dimension that `tile` does not have: all its elements at once.
Progression Runs::computeCommonForm(Value tile) {
  auto getBinary = [&](Operation *op) {
    return std::pair(getCommonForm(op->getOperand(0)),
                     getCommonForm(op->getOperand(1)));
  };
  if (std::optional<int64_t> value = getSplat(tile))
    return getExactly(*value);
  Operation *op = tile.getDefiningOp();
  if (!op)
    return {};
  return TypeSwitch<Operation *, Progression>(op)
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, BroadcastOp,
            ConvertLayoutOp>(
          [&](Operation *op) { return getCommonForm(op->getOperand(0)); })
      .Case([](IotaOp iota) {
        if (iota.getType().getRank() != 0)
          return Progression{};
        return Progression{0, getKnownDivisor(iota.getStart()), 0};
      })
      .Case([&](arith::AddIOp op) {
        auto [lhs, rhs] = getBinary(op);
        return lhs + rhs;
      })
      .Case([&](arith::MulIOp op) {
        auto [lhs, rhs] = getBinary(op);
        return multiply(lhs, rhs).value_or(Progression{});
      })
      .Default([](Operation *) { return Progression{}; });
}

std::optional<Progression> Runs::computeProgression(Value tile, unsigned dim) {
  if (std::optional<int64_t> value = getSplat(tile))
    return getExactly(*value);
  Operation *op = tile.getDefiningOp();
  if (!op)
    return std::nullopt;
  using Result = std::optional<Progression>;
  auto getOf = [&](Value operand) { return getProgression(operand, dim); };
  auto combine = [&](auto function) -> Result {
    Result lhs = getOf(op->getOperand(0));
    Result rhs = lhs ? getOf(op->getOperand(1)) : std::nullopt;
    return rhs ? Result(function(*lhs, *rhs)) : std::nullopt;
  };
  auto divideBy = [&](bool wantsRemainder) -> Result {
    Result lhs = getOf(op->getOperand(0));
    std::optional<int64_t> divisor = getSplat(op->getOperand(1));
    return lhs && divisor ? divide(*lhs, *divisor, width, wantsRemainder)
                          : std::nullopt;
  };
  return TypeSwitch<Operation *, Result>(op)
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, ConvertLayoutOp>(
          [&](Operation *op) { return getOf(op->getOperand(0)); })
      .Case([&](IotaOp iota) -> Result {
        int64_t start = getKnownDivisor(iota.getStart());
        return Progression{1, std::gcd(start, width), 0};
      })
      .Case([&](BroadcastOp broadcast) -> Result {
        const auto *input = llvm::find(broadcast.getDims(), int64_t(dim));
        if (input == broadcast.getDims().end())
          return getCommonForm(broadcast.getInput());
        return getProgression(broadcast.getInput(),
                              input - broadcast.getDims().begin());
      })
      .Case([](SplatOp) -> Result { return Progression{}; })
      .Case([&](arith::AddIOp) {
        return combine([](auto a, auto b) { return a + b; });
      })
      .Case([&](arith::SubIOp) {
        return combine([](auto a, auto b) { return a + b * -1; });
      })
      .Case([&](arith::MulIOp) {
        return combine([](auto a, auto b) { return multiply(a, b); });
      })
      .Case<arith::DivUIOp>([&](auto) { return divideBy(false); })
      .Case<arith::RemUIOp>([&](auto) { return divideBy(true); })
      .Default([&](Operation *op) -> Result {
        // Equal operands give equal results.
        bool isEqual = op->hasTrait<OpTrait::Elementwise>() &&
                       llvm::all_of(op->getOperands(), [&](Value operand) {
                         return isConstantAlong(operand, dim);
                       });
        return isEqual ? Result(Progression{}) : std::nullopt;
      });
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

/// x >= 0 is the same for all of a run that does not cross 0.
static bool isSignUniform(Progression form, int64_t width) {
  if (form.step == 0)
    return true;
  int64_t length = std::abs(form.step) * width;
  if (form.step < 0)
    form.residue += form.step * (width - 1);
  return form.isFirstMultipleOf(length);
}

bool Runs::computeUniform(Value tile, unsigned dim) {
  Operation *op = tile.getDefiningOp();
  if (!op)
    return false;
  if (isa<SplatOp>(op) || matchPattern(tile, m_Constant()))
    return true;
  return TypeSwitch<Operation *, bool>(op)
      .Case([&](ConvertLayoutOp convert) {
        return isUniform(convert.getInput(), dim);
      })
      .Case([&](BroadcastOp broadcast) {
        const auto *input = llvm::find(broadcast.getDims(), int64_t(dim));
        return input == broadcast.getDims().end() ||
               isUniform(broadcast.getInput(),
                         input - broadcast.getDims().begin());
      })
      .Case([&](InBoundsOp mask) {
        return mask.getBounds()[dim] % width == 0 &&
               getKnownDivisor(mask.getCorner()[dim]) % width == 0;
      })
      .Case([&](arith::CmpIOp compare) {
        auto lhs = getProgression(compare.getLhs(), dim);
        auto rhs = getProgression(compare.getRhs(), dim);
        if (!lhs || !rhs)
          return false;
        if (lhs->step == 0 && rhs->step == 0)
          return true;
        bool isSign = compare.getPredicate() == arith::CmpIPredicate::sge ||
                      compare.getPredicate() == arith::CmpIPredicate::slt;
        return isSign && isSignUniform(*lhs + *rhs * -1, width);
      })
      .Default([&](Operation *op) {
        return op->hasTrait<OpTrait::Elementwise>() &&
               llvm::all_of(op->getOperands(), [&](Value operand) {
                 return isConstantAlong(operand, dim);
               });
      });
}

std::optional<Progression> getProgression(Value tile, unsigned dim,
                                          int64_t width) {
  return Runs(width).getProgression(tile, dim);
}

bool isUniform(Value tile, unsigned dim, int64_t width) {
  return Runs(width).isUniform(tile, dim);
}

bool isUniform(Value tile) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(tile.getType()).getShape();
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size > 1 && !isUniform(tile, dim, size))
      return false;
  return true;
}

//===----------------------------------------------------------------------===//
// Accesses
//===----------------------------------------------------------------------===//

std::optional<unsigned> getUnitStrideDim(GatherOp gather) {
  for (unsigned dim = gather.getType().getRank(); dim-- > 0;) {
    if (gather.getType().getDimSize(dim) == 1)
      continue;
    auto form = getProgression(gather.getOffsets(), dim, /*width=*/1);
    if (form && form->step == 1)
      return dim;
  }
  return std::nullopt;
}

int64_t getGatherWidth(GatherOp gather, unsigned dim, int64_t alignment) {
  // The widest access of a thread (PTX ISA, ld).
  constexpr int64_t maxBytes = 16;
  int64_t bytes = llvm::divideCeil(
      gather.getType().getElementType().getIntOrFloatBitWidth(), 8);
  int64_t size = gather.getType().getDimSize(dim);
  for (int64_t width = std::min(maxBytes, alignment) / bytes; width > 1;
       width /= 2) {
    if (size % width != 0)
      continue;
    Runs runs(width);
    auto form = runs.getProgression(gather.getOffsets(), dim);
    if (form && form->step == 1 && form->isFirstMultipleOf(width) &&
        (!gather.getMask() || runs.isUniform(gather.getMask(), dim)))
      return width;
  }
  return 1;
}

int64_t getEqualRun(GatherOp gather, unsigned dim, int64_t limit) {
  for (int64_t length = limit; length > 1; length /= 2) {
    Runs runs(length);
    auto form = runs.getProgression(gather.getOffsets(), dim);
    if (form && form->step == 0 &&
        (!gather.getMask() || runs.isUniform(gather.getMask(), dim)))
      return length;
  }
  return 1;
}

} // namespace deplo::tile
