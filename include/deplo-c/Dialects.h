/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The dialects, passes and pipelines of deplo for programs that use MLIR's C
 * interface. Link Deplo::DeploCAPIDialects, which brings MLIR's own part in; a
 * program that has IR as text is served better by deplo-c/Compile.h.
 *
 * Ownership is as in MLIR's C interface: attributes and types belong to their
 * context, text is read before a call returns and not kept.
 *
 * Errors: where an attribute can't be made, a null attribute is returned and a
 * diagnostic emitted in the context; where a pass fails, mlirPassManagerRunOnOp
 * says so, after diagnostics.
 *
 * Threads: deploRegister... and mlirRegister... once, before others start; the
 * rest from one thread for each context, as everywhere in MLIR. */

#ifndef DEPLO_C_DIALECTS_H
#define DEPLO_C_DIALECTS_H

#include "mlir-c/IR.h"
#include "mlir-c/Pass.h"

#ifdef __cplusplus
extern "C" {
#endif

/*===-- Registration ------------------------------------------------------===*/

/* mlirGetDialectHandle__graph__() and so on: a dialect alone, to build IR. */
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Graph, graph);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Loop, loop);
MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Tile, tile);

/* The dialects of deplo and those of MLIR that its pipelines use, with what
 * these need to be lowered and translated to LLVM. A context that pipelines run
 * in has all of them. */
MLIR_CAPI_EXPORTED void mlirRegisterDeploDialects(MlirDialectRegistry registry);

/* Makes the passes "deplo-..." and the pipelines known to textual pipelines and
 * mlirParsePassPipeline. */
MLIR_CAPI_EXPORTED void mlirRegisterDeploPasses(void);

/*===-- Attributes --------------------------------------------------------===*/

/* #tile.target<...>: what is known of `chip`, as "sm_90a". It is the attribute
 * "tile.target" of a module. Null if the chip is not known by name; one that
 * isn't can be written out with mlirAttributeParseGet. */
MLIR_CAPI_EXPORTED MlirAttribute deploTargetAttrGet(MlirContext context,
                                                    MlirStringRef chip);
MLIR_CAPI_EXPORTED bool deploAttributeIsATarget(MlirAttribute attribute);
/* "sm_90a"; lives as long as the context. */
MLIR_CAPI_EXPORTED MlirStringRef deploTargetAttrGetChip(MlirAttribute target);

/* #tile.schedule<fields> from "block = [512], warps = 4, vector = 4". It is the
 * attribute "schedule" of a kernel, which deplo-select-schedule leaves as it
 * is. Null if the fields are not well formed. */
MLIR_CAPI_EXPORTED MlirAttribute deploScheduleAttrGet(MlirContext context,
                                                      MlirStringRef fields);
MLIR_CAPI_EXPORTED bool deploAttributeIsASchedule(MlirAttribute attribute);

/* #graph.dims<...>: the encoding of a tensor whose symbolic dimensions have
 * names; an empty name where the size is static. */
MLIR_CAPI_EXPORTED MlirAttribute deploDimsAttrGet(MlirContext context,
                                                  intptr_t count,
                                                  const MlirStringRef *names);
MLIR_CAPI_EXPORTED bool deploAttributeIsADims(MlirAttribute attribute);

/*===-- Pipelines ---------------------------------------------------------===*/

typedef struct DeploPipelineOptions {
  MlirStringRef target;    /* the chip, "sm_90a" */
  MlirStringRef schedule;  /* choices to fix, "stage_inputs=always,warps=4" */
  int64_t alignment;       /* bytes that every pointer argument is aligned to */
  MlirStringRef precision; /* what products of f32 may be computed in, "f32" */
} DeploPipelineOptions;

/* The options that the command line has where none is given. */
MLIR_CAPI_EXPORTED DeploPipelineOptions deploPipelineOptionsDefault(void);

/* Each adds the passes of one stage to `manager`, which is anchored on
 * builtin.module: linalg on tensors to graph, graph to tensor, tensor to loop,
 * loop to tile, tile to kernel, kernel to the LLVM and NVVM dialects. */
MLIR_CAPI_EXPORTED void
deploAddLinalgPipeline(MlirOpPassManager manager,
                       const DeploPipelineOptions *options);
MLIR_CAPI_EXPORTED void
deploAddGraphPipeline(MlirOpPassManager manager,
                      const DeploPipelineOptions *options);
MLIR_CAPI_EXPORTED void
deploAddLoopPipeline(MlirOpPassManager manager,
                     const DeploPipelineOptions *options);
MLIR_CAPI_EXPORTED void
deploAddTilePipeline(MlirOpPassManager manager,
                     const DeploPipelineOptions *options);
MLIR_CAPI_EXPORTED void
deploAddKernelPipeline(MlirOpPassManager manager,
                       const DeploPipelineOptions *options);
MLIR_CAPI_EXPORTED void
deploAddLLVMPipeline(MlirOpPassManager manager,
                     const DeploPipelineOptions *options);

/* All of them, and PTX: leaves a gpu.binary @kernels in the module. */
MLIR_CAPI_EXPORTED void
deploAddCompilePipeline(MlirOpPassManager manager,
                        const DeploPipelineOptions *options);

#ifdef __cplusplus
}
#endif

#endif /* DEPLO_C_DIALECTS_H */
