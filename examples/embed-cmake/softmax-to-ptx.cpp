// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// softmax(x * scale) over rows of 4096, built with deplo's dialects, taken down
// by its pipeline, printed as PTX: softmax-to-ptx [CHIP]

#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/InitAll.h"
#include "deplo/Pipelines/Pipelines.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
namespace graph = deplo::graph;

static OwningOpRef<ModuleOp> buildProgram(MLIRContext *context) {
  OpBuilder builder(context);
  Location loc = builder.getUnknownLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(builder, loc);
  builder.setInsertionPointToStart(module->getBody());

  auto matrix = RankedTensorType::get({512, 4096}, builder.getF32Type());
  auto row = RankedTensorType::get({4096}, builder.getF32Type());
  auto function = func::FuncOp::create(
      builder, loc, "main", builder.getFunctionType({matrix, row}, {matrix}));
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  Value scaled = graph::MulOp::create(
      builder, loc, matrix, body->getArgument(0), body->getArgument(1));
  Value result = graph::SoftmaxOp::create(builder, loc, matrix, scaled,
                                          /*axis=*/uint64_t(1));
  func::ReturnOp::create(builder, loc, result);
  return module;
}

int main(int argc, char **argv) {
  DialectRegistry registry;
  deplo::registerAllDialects(registry);
  MLIRContext context(registry);
  context.loadAllAvailableDialects();
  OwningOpRef<ModuleOp> module = buildProgram(&context);

  deplo::CompilePipelineOptions options;
  if (argc > 1)
    options.target = argv[1];
  PassManager manager(&context);
  deplo::buildCompilePipeline(manager, options);
  if (failed(manager.run(*module)))
    return 1; // the diagnostic has been printed

  module->walk([](gpu::BinaryOp binary) {
    for (Attribute object : binary.getObjects())
      llvm::outs() << cast<gpu::ObjectAttr>(object).getObject().getValue();
  });
  return 0;
}
