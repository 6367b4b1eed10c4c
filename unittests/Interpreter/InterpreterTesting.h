// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs IR text on random data, in tests.

#ifndef DEPLO_UNITTESTS_INTERPRETER_INTERPRETERTESTING_H
#define DEPLO_UNITTESTS_INTERPRETER_INTERPRETERTESTING_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Interpreter/Interpreter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

#include <cmath>
#include <random>

namespace deplo::testing {

/// A context with the dialects of kernels that collects diagnostics.
struct Session {
  Session()
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          llvm::raw_string_ostream(errors) << diagnostic << "\n";
          return mlir::success();
        }) {
    context.loadDialect<loop::LoopDialect, tile::TileDialect,
                        mlir::arith::ArithDialect, mlir::func::FuncDialect,
                        mlir::math::MathDialect, mlir::memref::MemRefDialect,
                        mlir::scf::SCFDialect>();
  }

  mlir::OwningOpRef<mlir::ModuleOp> parse(llvm::StringRef text) {
    mlir::OwningOpRef<mlir::ModuleOp> module =
        mlir::parseSourceString<mlir::ModuleOp>(text, &context);
    EXPECT_TRUE(module) << errors << text.str();
    return module;
  }

  mlir::MLIRContext context;
  std::string errors;
  mlir::ScopedDiagnosticHandler handler;
};

/// The first kernel of a module.
inline mlir::Operation *getKernel(mlir::ModuleOp module) {
  for (mlir::Operation &op : *module.getBody())
    if (llvm::isa<loop::KernelOp, tile::KernelOp>(op))
      return &op;
  return nullptr;
}

/// An array for each memref of `kernel`, with the same random elements for the
/// same seed.
inline std::vector<HostArray> makeArguments(mlir::Operation *kernel,
                                            unsigned seed) {
  std::mt19937 random(seed);
  std::vector<HostArray> arrays;
  for (mlir::Type type : kernel->getRegion(0).front().getArgumentTypes()) {
    auto memref = llvm::dyn_cast<mlir::MemRefType>(type);
    if (!memref)
      continue;
    HostArray &array = arrays.emplace_back(memref);
    bool isReal = llvm::isa<mlir::FloatType>(memref.getElementType());
    for (Number &element : array.elements) {
      // mt19937 is the same everywhere, the standard's distributions are not.
      double uniform = random() / 4294967296.0;
      if (isReal)
        element.real = 4 * uniform - 2;
      else
        element.integer = static_cast<int64_t>(200 * uniform) - 100;
      element = roundTo(element, memref.getElementType());
    }
  }
  return arrays;
}

/// The arrays after `kernel` ran on random ones.
inline std::vector<HostArray>
interpretOnRandom(Session &session, mlir::Operation *kernel, unsigned seed) {
  std::vector<HostArray> arrays = makeArguments(kernel, seed);
  llvm::SmallVector<HostArray *> pointers;
  for (HostArray &array : arrays)
    pointers.push_back(&array);
  EXPECT_TRUE(succeeded(interpretKernel(kernel, pointers))) << session.errors;
  return arrays;
}

/// Compares bit for bit, or within `tolerance` (and a step of a narrow float)
/// relative to the larger of the value and one. Zeros of either sign are alike:
/// a sum of negative zeros depends on where it starts.
inline void expectSame(const std::vector<HostArray> &expected,
                       const std::vector<HostArray> &actual,
                       double tolerance = 0) {
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t a = 0; a < expected.size(); ++a) {
    ASSERT_EQ(expected[a].elements.size(), actual[a].elements.size());
    auto real =
        llvm::dyn_cast<mlir::FloatType>(expected[a].type.getElementType());
    bool isReal = bool(real);
    double allowed =
        isReal ? std::max(tolerance,
                          std::ldexp(1.0, 1 - int(real.getFPMantissaWidth())))
               : 0;
    for (size_t i = 0; i < expected[a].elements.size(); ++i) {
      Number x = expected[a].elements[i], y = actual[a].elements[i];
      if (isReal && tolerance != 0 && std::isfinite(x.real))
        ASSERT_NEAR(x.real, y.real, allowed * std::max(1.0, std::fabs(x.real)))
            << "argument " << a << ", element " << i;
      else if (isReal && x.real == 0 && y.real == 0)
        continue;
      else if (!isReal || !std::isnan(x.real) || !std::isnan(y.real))
        ASSERT_EQ(x.integer, y.integer)
            << "argument " << a << ", element " << i;
    }
  }
}

} // namespace deplo::testing

#endif // DEPLO_UNITTESTS_INTERPRETER_INTERPRETERTESTING_H
