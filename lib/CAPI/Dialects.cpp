// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo-c/Dialects.h"

#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "deplo/InitAll.h"
#include "deplo/Pipelines/Pipelines.h"
#include "deplo/Target/TargetDescription.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/CAPI/IR.h"
#include "mlir/CAPI/Pass.h"
#include "mlir/CAPI/Registration.h"

using namespace mlir;
using namespace deplo;

MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Graph, graph, graph::GraphDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Loop, loop, loop::LoopDialect)
MLIR_DEFINE_CAPI_DIALECT_REGISTRATION(Tile, tile, tile::TileDialect)

void mlirRegisterDeploDialects(MlirDialectRegistry registry) {
  registerAllDialects(*unwrap(registry));
}

void mlirRegisterDeploPasses(void) { registerPasses(); }

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

MlirAttribute deploTargetAttrGet(MlirContext context, MlirStringRef chip) {
  MLIRContext *cxx = unwrap(context);
  const TargetDescription *target = findTarget(unwrap(chip).str());
  if (!target) {
    emitError(UnknownLoc::get(cxx)) << "unknown target '" << unwrap(chip)
                                    << "', expected one of " << listTargets();
    return wrap(Attribute());
  }
  cxx->getOrLoadDialect<tile::TileDialect>();
  return wrap(Attribute(tile::getTargetAttr(cxx, *target)));
}

bool deploAttributeIsATarget(MlirAttribute attribute) {
  return isa_and_nonnull<tile::TargetAttr>(unwrap(attribute));
}

MlirStringRef deploTargetAttrGetChip(MlirAttribute target) {
  return wrap(cast<tile::TargetAttr>(unwrap(target)).getChip());
}

MlirAttribute deploScheduleAttrGet(MlirContext context, MlirStringRef fields) {
  MLIRContext *cxx = unwrap(context);
  cxx->getOrLoadDialect<tile::TileDialect>();
  std::string text = "#tile.schedule<" + unwrap(fields).str() + ">";
  return wrap(parseAttribute(text, cxx));
}

bool deploAttributeIsASchedule(MlirAttribute attribute) {
  return isa_and_nonnull<tile::ScheduleAttr>(unwrap(attribute));
}

MlirAttribute deploDimsAttrGet(MlirContext context, intptr_t count,
                               const MlirStringRef *names) {
  MLIRContext *cxx = unwrap(context);
  cxx->getOrLoadDialect<graph::GraphDialect>();
  SmallVector<StringAttr> attributes;
  for (intptr_t i = 0; i < count; ++i)
    attributes.push_back(StringAttr::get(cxx, unwrap(names[i])));
  return wrap(Attribute(graph::DimsAttr::get(cxx, attributes)));
}

bool deploAttributeIsADims(MlirAttribute attribute) {
  return isa_and_nonnull<graph::DimsAttr>(unwrap(attribute));
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

DeploPipelineOptions deploPipelineOptionsDefault(void) {
  // Of static lifetime: the texts returned point into it.
  static const CompilePipelineOptions defaults;
  return {wrap(StringRef(defaults.target)), wrap(StringRef(defaults.schedule)),
          defaults.alignment, wrap(StringRef(defaults.precision))};
}

static void add(void (*build)(OpPassManager &, const CompilePipelineOptions &),
                MlirOpPassManager manager,
                const DeploPipelineOptions *options) {
  CompilePipelineOptions cxx;
  cxx.target = unwrap(options->target).str();
  cxx.schedule = unwrap(options->schedule).str();
  cxx.alignment = options->alignment;
  cxx.precision = unwrap(options->precision).str();
  build(*unwrap(manager), cxx);
}

void deploAddLinalgPipeline(MlirOpPassManager manager,
                            const DeploPipelineOptions *options) {
  add(buildLinalgPipeline, manager, options);
}

void deploAddGraphPipeline(MlirOpPassManager manager,
                           const DeploPipelineOptions *options) {
  add(buildGraphPipeline, manager, options);
}

void deploAddLoopPipeline(MlirOpPassManager manager,
                          const DeploPipelineOptions *options) {
  add(buildLoopPipeline, manager, options);
}

void deploAddTilePipeline(MlirOpPassManager manager,
                          const DeploPipelineOptions *options) {
  add(buildTilePipeline, manager, options);
}

void deploAddKernelPipeline(MlirOpPassManager manager,
                            const DeploPipelineOptions *options) {
  add(buildKernelPipeline, manager, options);
}

void deploAddLLVMPipeline(MlirOpPassManager manager,
                          const DeploPipelineOptions *options) {
  add(buildLLVMPipeline, manager, options);
}

void deploAddCompilePipeline(MlirOpPassManager manager,
                             const DeploPipelineOptions *options) {
  add(buildCompilePipeline, manager, options);
}
