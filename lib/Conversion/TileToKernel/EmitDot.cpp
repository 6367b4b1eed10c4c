// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tile.dot as multiply-adds of a thread's registers.

#include "KernelEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <map>

using namespace mlir;

namespace deplo {

namespace {

/// The elements of an operand that a thread holds, by their coordinates.
class OperandRegisters {
public:
  OperandRegisters(RankedTensorType type, ArrayRef<int64_t> dims,
                   SmallVector<Value> elements)
      : dims(dims), elements(std::move(elements)) {
    LinearLayout layout = tile::getLayout(type).getLinearLayout();
    for (int32_t reg = 0; reg < layout.getNumRegisters(); ++reg) {
      Coordinates coordinates = layout.apply(reg, 0);
      registerAt.emplace(
          std::vector<int32_t>(coordinates.begin(), coordinates.end()), reg);
    }
  }

  /// `coordinates` are those of the accumulator and the one summed over.
  Value get(ArrayRef<int32_t> coordinates) const {
    std::vector<int32_t> own;
    for (int64_t dim : dims)
      own.push_back(coordinates[dim]);
    return elements[registerAt.at(own)];
  }

private:
  ArrayRef<int64_t> dims;
  SmallVector<Value> elements;
  std::map<std::vector<int32_t>, int32_t> registerAt;
};

} // namespace

/// One summed element after the other, so that neighbouring instructions add to
/// different accumulators.
void KernelEmitter::emitDot(tile::DotOp op) {
  Type type = op.getType().getElementType();
  auto getElements = [&](Value operand) {
    SmallVector<Value> elements = unpack(lookup(operand));
    for (Value &element : elements)
      if (element.getType() != type)
        element = arith::ExtFOp::create(builder, type, element);
    return elements;
  };
  OperandRegisters lhs(op.getLhs().getType(), op.getLhsDims(),
                       getElements(op.getLhs()));
  OperandRegisters rhs(op.getRhs().getType(), op.getRhsDims(),
                       getElements(op.getRhs()));
  LinearLayout layout = tile::getLayout(op.getResult()).getLinearLayout();
  SmallVector<Value> sums = unpack(lookup(op.getAccumulator()));
  for (int32_t k = 0; k < op.getContractedSize(); ++k)
    for (auto [reg, sum] : llvm::enumerate(sums)) {
      Coordinates coordinates = layout.apply(reg, 0);
      coordinates.push_back(k);
      sum = LLVM::FMAOp::create(builder, lhs.get(coordinates),
                                rhs.get(coordinates), sum);
    }
  mapping.map(op.getResult(), pack(sums));
}

} // namespace deplo
