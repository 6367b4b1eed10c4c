// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The dialects, passes and pipelines of deplo for any tool that loads plugins:
//   mlir-opt-22 --load-dialect-plugin=DeploPlugin.so
//     --load-pass-plugin=DeploPlugin.so
//     --pass-pipeline='builtin.module(deplo-compile)' in.mlir

#include "deplo/InitAll.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"
#include "llvm/Support/Compiler.h"

extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "deplo", DEPLO_VERSION,
          [](mlir::DialectRegistry *registry) {
            deplo::registerAllDialects(*registry);
          }};
}

// MLIR's own passes are the tool's to register.
extern "C" LLVM_ATTRIBUTE_VISIBILITY_DEFAULT mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "deplo", DEPLO_VERSION,
          deplo::registerPasses};
}
