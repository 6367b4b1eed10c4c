// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "MmaOperands.h"

using namespace mlir;

namespace deplo {

static constexpr int64_t wordBits = 32;

Fragments::Fragments(const LinearLayout &layout, int32_t elements) {
  for (int32_t reg = 0; reg < layout.getNumRegisters(); reg += elements) {
    Coordinates coordinates = layout.apply(reg, 0);
    firstAt.emplace(
        std::vector<int32_t>(coordinates.begin(), coordinates.end()), reg);
  }
}

int32_t Fragments::getFirst(ArrayRef<int32_t> coordinates,
                            ArrayRef<int64_t> dims) const {
  std::vector<int32_t> own;
  for (int64_t dim : dims)
    own.push_back(coordinates[dim]);
  return firstAt.at(own);
}

MmaOperand MmaOperands::getOperand(Value tile, ArrayRef<int64_t> dims,
                                   const LinearLayout &layout,
                                   int64_t words) const {
  return {tile, dims, Fragments(layout, words * elementsPerWord), words};
}

MmaOperands::MmaOperands(tile::DotOp op, const tile::DotLayouts &layouts)
    : elementsPerWord(wordBits /
                      op.getLhs().getType().getElementTypeBitWidth()),
      isSwapped(op.getRowAndColumn().first > op.getRowAndColumn().second),
      a(isSwapped
            ? getOperand(op.getRhs(), op.getRhsDims(), layouts.rhs, wordsOfA)
            : getOperand(op.getLhs(), op.getLhsDims(), layouts.lhs, wordsOfA)),
      b(isSwapped
            ? getOperand(op.getLhs(), op.getLhsDims(), layouts.lhs, wordsOfB)
            : getOperand(op.getRhs(), op.getRhsDims(), layouts.rhs, wordsOfB)) {
}

SmallVector<Value> createMma(ImplicitLocOpBuilder &builder, NVVM::MMATypes type,
                             int64_t depth, ArrayRef<Value> a,
                             ArrayRef<Value> b, ArrayRef<Value> added) {
  Type sums = LLVM::LLVMStructType::getLiteral(
      builder.getContext(),
      SmallVector<Type>(added.size(), added.front().getType()));
  Value result = NVVM::MmaOp::create(
      builder, sums, a, b, added, ArrayRef<int64_t>{16, 8, depth},
      /*b1Op=*/std::nullopt, /*intOverflow=*/std::nullopt,
      std::array{type, type},
      std::array{NVVM::MMALayout::row, NVVM::MMALayout::col});
  SmallVector<Value> elements;
  for (size_t i = 0; i < added.size(); ++i)
    elements.push_back(LLVM::ExtractValueOp::create(builder, result, i));
  return elements;
}

} // namespace deplo
