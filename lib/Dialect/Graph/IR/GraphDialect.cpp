// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Graph/IR/Graph.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace deplo::graph;

#include "deplo/Dialect/Graph/IR/GraphDialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "deplo/Dialect/Graph/IR/GraphAttrs.cpp.inc"

namespace {

/// The version that bytecode carries. Raise it with each incompatible change
/// and mend older IR in upgradeFromVersion.
struct GraphVersion : DialectVersion {
  static constexpr uint64_t current = 1;
  explicit GraphVersion(uint64_t version) : version(version) {}
  uint64_t version;
};

struct GraphBytecodeInterface : BytecodeDialectInterface {
  explicit GraphBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(GraphVersion::current);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t version;
    if (failed(reader.readVarInt(version)))
      return nullptr;
    if (version > GraphVersion::current) {
      reader.emitError() << "graph dialect version " << version
                         << " is newer than this compiler, which reads up to "
                         << GraphVersion::current;
      return nullptr;
    }
    return std::make_unique<GraphVersion>(version);
  }
};

} // namespace

void GraphDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "deplo/Dialect/Graph/IR/GraphOps.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "deplo/Dialect/Graph/IR/GraphAttrs.cpp.inc"
      >();
  addInterfaces<GraphBytecodeInterface>();
}

/// Tensors become graph.constant, the scalars of a map's region arith.constant.
Operation *GraphDialect::materializeConstant(OpBuilder &builder,
                                             Attribute value, Type type,
                                             Location loc) {
  auto elements = dyn_cast<ElementsAttr>(value);
  if (elements && elements.getType() == type)
    return ConstantOp::create(builder, loc, elements);
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

static LogicalResult verifyStrides(Operation *op, unsigned argIndex,
                                   RankedTensorType type, Attribute value) {
  auto strides = dyn_cast<DenseI64ArrayAttr>(value);
  if (!strides)
    return op->emitOpError() << "'graph.strides' of argument " << argIndex
                             << " must be an array of 64-bit integers";
  if (strides.size() != type.getRank())
    return op->emitOpError() << "'graph.strides' of argument " << argIndex
                             << " has " << strides.size() << " strides for a "
                             << type.getRank() << "-dimensional tensor";
  for (int64_t stride : strides.asArrayRef())
    if (stride < 0)
      return op->emitOpError() << "'graph.strides' of argument " << argIndex
                               << " must not be negative, got " << stride;
  return success();
}

static LogicalResult verifyUnsigned(Operation *op, Type type,
                                    NamedAttribute attribute,
                                    const Twine &where) {
  if (!isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'graph.unsigned' of " << where << " must be a unit";
  if (!getElementTypeOrSelf(type).isInteger(8))
    return op->emitOpError() << "'graph.unsigned' marks " << where
                             << " of type " << type << ", expected i8 elements";
  return success();
}

LogicalResult
GraphDialect::verifyRegionResultAttribute(Operation *op, unsigned regionIndex,
                                          unsigned resultIndex,
                                          NamedAttribute attribute) {
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (attribute.getName() != "graph.unsigned" || !function)
    return op->emitOpError() << "has unknown result attribute '"
                             << attribute.getName().getValue() << "'";
  return verifyUnsigned(op, function.getResultTypes()[resultIndex], attribute,
                        "result " + Twine(resultIndex));
}

LogicalResult GraphDialect::verifyRegionArgAttribute(Operation *op,
                                                     unsigned regionIndex,
                                                     unsigned argIndex,
                                                     NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  if (name != "graph.name" && name != "graph.strides" &&
      name != "graph.unsigned" && name != "graph.weight")
    return op->emitOpError()
           << "has unknown argument attribute '" << name << "'";
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (!function)
    return op->emitOpError()
           << "'" << name << "' is an attribute of function arguments";
  if (name == "graph.unsigned")
    return verifyUnsigned(op, function.getArgumentTypes()[argIndex], attribute,
                          "argument " + Twine(argIndex));
  if (name == "graph.name") {
    if (!isa<StringAttr>(attribute.getValue()))
      return op->emitOpError()
             << "'graph.name' of argument " << argIndex << " must be a string";
    return success();
  }
  if (name == "graph.weight") {
    if (!isa<UnitAttr>(attribute.getValue()))
      return op->emitOpError()
             << "'graph.weight' of argument " << argIndex << " must be a unit";
    return success();
  }
  Type type = function.getArgumentTypes()[argIndex];
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return op->emitOpError()
           << "'graph.strides' marks argument " << argIndex << " of type "
           << type << ", expected a ranked tensor";
  return verifyStrides(op, argIndex, tensor, attribute.getValue());
}

LogicalResult
DimsAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                         function_ref<InFlightDiagnostic()> emitError) const {
  if (getNames().size() != shape.size()) // C1
    return emitError() << "names " << getNames().size()
                       << " dimensions of a tensor that has " << shape.size();
  for (auto [dim, name, size] : llvm::enumerate(getNames(), shape)) { // C2
    bool isSymbolic = ShapedType::isDynamic(size);
    if (isSymbolic && name.empty())
      return emitError() << "dimension " << dim << " is symbolic, name it";
    if (!isSymbolic && !name.empty())
      return emitError() << "dimension " << dim << " named '" << name.getValue()
                         << "' has the fixed size " << size
                         << ", leave its name empty";
  }
  return success();
}
