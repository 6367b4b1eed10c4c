// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/SymbolicSizes.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace deplo {

LogicalResult SymbolicSizes::verify(Operation *module) {
  Attribute attribute = module->getAttr(attributeName);
  if (!attribute)
    return success();
  auto fail = [&](const Twine &what) {
    return module->emitOpError() << "'" << attributeName << "' " << what;
  };
  auto sizes = dyn_cast<DictionaryAttr>(attribute);
  if (!sizes)
    return fail("must be a dictionary of the sizes of a module");
  for (NamedAttribute size : sizes) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(size.getValue());
    StringRef name = size.getName();
    if (!numbers || numbers.size() != 3)
      return fail("of " + name +
                  " must be an array of its generic number, minimum and "
                  "maximum");
    auto [generic, min, max] = std::tuple(numbers[0], numbers[1], numbers[2]);
    if (min < 0 || max < min || generic <= max || generic < 2)
      return fail("of " + name +
                  " must have 0 <= minimum <= maximum < generic "
                  "number, got " +
                  Twine(min) + ", " + Twine(max) + ", " + Twine(generic));
    for (NamedAttribute other : sizes)
      if (auto others = dyn_cast<DenseI64ArrayAttr>(other.getValue());
          others && others.size() == 3 && other.getName() != size.getName() &&
          generic % others[0] == 0)
        return fail("of " + name + " must not be a multiple of that of " +
                    other.getName().getValue());
  }
  return success();
}

SymbolicSizes SymbolicSizes::get(Operation *op) {
  SymbolicSizes result;
  auto module = dyn_cast<ModuleOp>(op);
  if (!module)
    module = op->getParentOfType<ModuleOp>();
  auto sizes = module ? module->getAttrOfType<DictionaryAttr>(attributeName)
                      : DictionaryAttr();
  if (!sizes)
    return result;
  for (NamedAttribute size : sizes) {
    auto numbers = dyn_cast<DenseI64ArrayAttr>(size.getValue());
    if (!numbers || numbers.size() != 3 || numbers[0] < 2)
      return {};
    result.sizes.push_back(
        {size.getName().str(), numbers[0], numbers[1], numbers[2]});
  }
  return result;
}

bool SymbolicSizes::isSymbolic(int64_t number) const {
  return number != 0 && llvm::any_of(sizes, [&](const SymbolicSize &size) {
           return number % size.generic == 0;
         });
}

SizeProduct SymbolicSizes::getProduct(int64_t number) const {
  SizeProduct product{number, {}};
  for (auto [index, size] : llvm::enumerate(sizes))
    while (product.coefficient != 0 &&
           product.coefficient % size.generic == 0) {
      product.coefficient /= size.generic;
      product.factors.push_back(index);
    }
  return product;
}

int64_t SymbolicSizes::getMax(int64_t number) const {
  SizeProduct product = getProduct(number);
  int64_t max = product.coefficient;
  for (unsigned factor : product.factors)
    if (llvm::MulOverflow(max, sizes[factor].max, max))
      return INT64_MAX;
  return max;
}

int64_t SymbolicSizes::getMin(int64_t number) const {
  SizeProduct product = getProduct(number);
  int64_t min = product.coefficient;
  for (unsigned factor : product.factors)
    if (llvm::MulOverflow(min, sizes[factor].min, min))
      return INT64_MAX;
  return min;
}

std::string SymbolicSizes::describe(int64_t number) const {
  SizeProduct product = getProduct(number);
  std::string text;
  if (product.coefficient != 1 || product.factors.empty())
    text = std::to_string(product.coefficient);
  for (unsigned factor : product.factors)
    text += (text.empty() ? "" : " * ") + sizes[factor].name;
  return text;
}

std::string SymbolicSizes::describeSum(ArrayRef<int64_t> terms) const {
  llvm::MapVector<int64_t, int64_t> coefficients; // of products of sizes
  for (int64_t term : terms) {
    int64_t coefficient = getProduct(term).coefficient;
    if (coefficient != 0)
      coefficients[term / coefficient] += coefficient;
  }
  std::string text;
  for (auto [product, coefficient] : coefficients)
    text += (text.empty() ? "" : " + ") + describe(coefficient * product);
  return text.empty() ? "0" : text;
}

} // namespace deplo
