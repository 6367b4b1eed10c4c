// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Dialect/Loop/IR/Loop.h"

#include "mlir/Bytecode/BytecodeImplementation.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace deplo::loop;

#include "deplo/Dialect/Loop/IR/LoopDialect.cpp.inc"

namespace {

/// The version that bytecode carries. Raise it with each incompatible change
/// and mend older IR in upgradeFromVersion.
struct LoopVersion : DialectVersion {
  static constexpr uint64_t current = 1;
  explicit LoopVersion(uint64_t version) : version(version) {}
  uint64_t version;
};

struct LoopBytecodeInterface : BytecodeDialectInterface {
  explicit LoopBytecodeInterface(Dialect *dialect)
      : BytecodeDialectInterface(dialect) {}

  void writeVersion(DialectBytecodeWriter &writer) const override {
    writer.writeVarInt(LoopVersion::current);
  }

  std::unique_ptr<DialectVersion>
  readVersion(DialectBytecodeReader &reader) const override {
    uint64_t version;
    if (failed(reader.readVarInt(version)))
      return nullptr;
    if (version > LoopVersion::current) {
      reader.emitError() << "loop dialect version " << version
                         << " is newer than this compiler, which reads up to "
                         << LoopVersion::current;
      return nullptr;
    }
    return std::make_unique<LoopVersion>(version);
  }
};

} // namespace

void LoopDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "deplo/Dialect/Loop/IR/LoopOps.cpp.inc"
      >();
  addInterfaces<LoopBytecodeInterface>();
}

/// Folded reductions and coordinates become arith.constant.
Operation *LoopDialect::materializeConstant(OpBuilder &builder, Attribute value,
                                            Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

LogicalResult LoopDialect::verifyRegionArgAttribute(Operation *op,
                                                    unsigned regionIndex,
                                                    unsigned argIndex,
                                                    NamedAttribute attribute) {
  StringRef name = attribute.getName().getValue();
  auto function = dyn_cast<FunctionOpInterface>(op);
  if (name == "loop.dtype") {
    Type type = function ? function.getArgumentTypes()[argIndex] : Type();
    auto dtype = dyn_cast<StringAttr>(attribute.getValue());
    if (!dtype || (dtype != "bool" && dtype != "u8"))
      return op->emitOpError() << "'loop.dtype' of argument " << argIndex
                               << " must be \"bool\" or \"u8\"";
    if (!isa_and_nonnull<MemRefType>(type) ||
        !cast<MemRefType>(type).getElementType().isInteger(8))
      return op->emitOpError() << "'loop.dtype' marks argument " << argIndex
                               << ", expected a memref of i8";
    return success();
  }
  if (name != "loop.result" && name != "loop.weight")
    return op->emitOpError()
           << "has unknown argument attribute '" << name << "'";
  if (!function || !isa<UnitAttr>(attribute.getValue()))
    return op->emitOpError()
           << "'" << name
           << "' must be a unit attribute of a function argument";
  if (!isa<MemRefType>(function.getArgumentTypes()[argIndex]))
    return op->emitOpError()
           << "'" << name << "' marks argument " << argIndex << " of type "
           << function.getArgumentTypes()[argIndex] << ", expected a memref";
  return success();
}
