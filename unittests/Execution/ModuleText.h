// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parses IR for tests and keeps what the compiler says about it.

#ifndef DEPLO_UNITTESTS_EXECUTION_MODULETEXT_H
#define DEPLO_UNITTESTS_EXECUTION_MODULETEXT_H

#include "deplo/Dialect/Loop/IR/Loop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <string>

namespace deplo::testing {

class ModuleText {
public:
  explicit ModuleText(llvm::StringRef text)
      : handler(&context, [this](mlir::Diagnostic &diagnostic) {
          errors += diagnostic.str() + "\n";
        }) {
    context.loadDialect<loop::LoopDialect, mlir::arith::ArithDialect,
                        mlir::func::FuncDialect, mlir::math::MathDialect,
                        mlir::memref::MemRefDialect, mlir::scf::SCFDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  }

  mlir::ModuleOp get() { return module.get(); }
  const std::string &getErrors() const { return errors; }

private:
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  std::string errors;
  mlir::ScopedDiagnosticHandler handler;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

} // namespace deplo::testing

#endif // DEPLO_UNITTESTS_EXECUTION_MODULETEXT_H
