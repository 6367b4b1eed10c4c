// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Interpreter/HostArray.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo {

static double roundReal(double value, FloatType type) {
  if (type.isF64())
    return value;
  if (type.isF32())
    return static_cast<float>(value);
  llvm::APFloat narrow(value);
  bool losesInfo;
  narrow.convert(type.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
                 &losesInfo);
  narrow.convert(llvm::APFloat::IEEEdouble(),
                 llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return narrow.convertToDouble();
}

Number roundTo(Number number, Type type) {
  if (auto real = dyn_cast<FloatType>(type))
    return {roundReal(number.real, real)};
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  Number result;
  // A bool is 0 or 1.
  result.integer = width == 1 ? number.integer & 1
                              : llvm::SignExtend64(number.integer, width);
  return result;
}

/// One past the largest offset that a memref of `type` reaches.
static size_t getExtent(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  LogicalResult isStrided = type.getStridesAndOffset(strides, offset);
  assert(succeeded(isStrided) && type.hasStaticShape() &&
         "arrays are strided and static");
  (void)isStrided;
  int64_t last = offset;
  for (auto [size, stride] : llvm::zip(type.getShape(), strides)) {
    if (size == 0)
      return 0;
    last += (size - 1) * stride;
  }
  return last + 1;
}

HostArray::HostArray(MemRefType type) : type(type) {
  Number zero;
  if (isa<FloatType>(type.getElementType()))
    zero.real = 0.0;
  else
    zero.integer = 0;
  elements.assign(getExtent(type), zero);
}

} // namespace deplo
