/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C interface of the dialects, used from C through MLIR's. */

#include "dialects_test.h"

#include "deplo-c/Dialects.h"
#include "mlir-c/BuiltinAttributes.h"
#include "mlir-c/BuiltinTypes.h"
#include "mlir-c/Diagnostics.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;

static void expect(int condition, const char *text, int line) {
  if (condition)
    return;
  ++failures;
  fprintf(stderr, "dialects_test.c:%d: expected %s\n", line, text);
}

#define EXPECT(condition) expect(condition, #condition, __LINE__)

static MlirStringRef text(const char *characters) {
  return mlirStringRefCreateFromCString(characters);
}

/*===-- Text that grows ---------------------------------------------------===*/

typedef struct Text {
  char *data;
  size_t size;
} Text;

static void append(MlirStringRef part, void *into) {
  Text *text = into;
  text->data = realloc(text->data, text->size + part.length + 1);
  memcpy(text->data + text->size, part.data, part.length);
  text->size += part.length;
  text->data[text->size] = 0;
}

static int contains(const Text *text, const char *part) {
  return text->data && strstr(text->data, part) != NULL;
}

static MlirLogicalResult keepDiagnostic(MlirDiagnostic diagnostic, void *into) {
  mlirDiagnosticPrint(diagnostic, append, into);
  return mlirLogicalResultSuccess();
}

/*===-- A context with everything of deplo --------------------------------===*/

static MlirContext createContext(void) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirRegisterDeploDialects(registry);
  MlirContext context = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(context);
  return context;
}

static const char program[] =
    "func.func @main(%x: tensor<64x1000xf32>) -> tensor<64x1000xf32> {\n"
    "  %0 = math.absf %x : tensor<64x1000xf32>\n"
    "  %1 = graph.softmax %0 axis 1 : tensor<64x1000xf32>\n"
    "  return %1 : tensor<64x1000xf32>\n"
    "}\n";

/* Runs `add` with `options` on the program; the printed module in `printed`. */
static int runPipeline(MlirContext context,
                       void (*add)(MlirOpPassManager,
                                   const DeploPipelineOptions *),
                       const DeploPipelineOptions *options, Text *printed) {
  MlirModule module = mlirModuleCreateParse(context, text(program));
  MlirPassManager manager = mlirPassManagerCreate(context);
  add(mlirPassManagerGetAsOpPassManager(manager), options);
  MlirLogicalResult result =
      mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module));
  mlirPassManagerDestroy(manager);
  mlirOperationPrint(mlirModuleGetOperation(module), append, printed);
  mlirModuleDestroy(module);
  return mlirLogicalResultIsSuccess(result);
}

/*===-- Tests -------------------------------------------------------------===*/

int runDialectHandlesTest(void) {
  failures = 0;
  MlirDialectHandle handles[] = {mlirGetDialectHandle__graph__(),
                                 mlirGetDialectHandle__loop__(),
                                 mlirGetDialectHandle__tile__()};
  const char *names[] = {"graph", "loop", "tile"};
  MlirContext context = mlirContextCreate();
  for (int i = 0; i < 3; ++i) {
    EXPECT(mlirStringRefEqual(mlirDialectHandleGetNamespace(handles[i]),
                              text(names[i])));
    EXPECT(
        !mlirDialectIsNull(mlirDialectHandleLoadDialect(handles[i], context)));
  }
  EXPECT(mlirContextIsRegisteredOperation(context, text("graph.softmax")));
  EXPECT(mlirContextIsRegisteredOperation(context, text("loop.kernel")));
  EXPECT(mlirContextIsRegisteredOperation(context, text("tile.kernel")));
  mlirContextDestroy(context);
  return failures;
}

int runAttributesTest(void) {
  failures = 0;
  MlirContext context = createContext();
  MlirAttribute target = deploTargetAttrGet(context, text("sm_90a"));
  EXPECT(deploAttributeIsATarget(target));
  EXPECT(!deploAttributeIsASchedule(target));
  EXPECT(mlirStringRefEqual(deploTargetAttrGetChip(target), text("sm_90a")));

  MlirAttribute schedule = deploScheduleAttrGet(
      context, text("block = [512], warps = 4, vector = 4"));
  EXPECT(deploAttributeIsASchedule(schedule));
  EXPECT(!deploAttributeIsATarget(schedule));
  EXPECT(mlirAttributeEqual(
      schedule,
      mlirAttributeParseGet(
          context,
          text("#tile.schedule<block = [512], warps = 4, vector = 4>"))));

  MlirStringRef names[] = {text("n"), text("")};
  MlirAttribute dims = deploDimsAttrGet(context, 2, names);
  EXPECT(deploAttributeIsADims(dims));
  int64_t shape[] = {mlirShapedTypeGetDynamicSize(), 8};
  MlirType tensor = mlirRankedTensorTypeGetChecked(
      mlirLocationUnknownGet(context), 2, shape, mlirF32TypeGet(context), dims);
  EXPECT(!mlirTypeIsNull(tensor));
  mlirContextDestroy(context);
  return failures;
}

int runPipelinesTest(void) {
  failures = 0;
  MlirContext context = createContext();
  DeploPipelineOptions options = deploPipelineOptionsDefault();
  EXPECT(mlirStringRefEqual(options.target, text("sm_90a")));
  EXPECT(mlirStringRefEqual(options.schedule, text("")));
  EXPECT(options.alignment == 16);

  Text graph = {NULL, 0}, ptx = {NULL, 0};
  EXPECT(runPipeline(context, deploAddLinalgPipeline, &options, &graph));
  EXPECT(contains(&graph, "graph.map"));
  EXPECT(contains(&graph, "graph.softmax"));

  options.target = text("sm_80");
  EXPECT(runPipeline(context, deploAddCompilePipeline, &options, &ptx));
  EXPECT(contains(&ptx, "gpu.binary @kernels"));
  EXPECT(contains(&ptx, ".target sm_80"));
  free(graph.data);
  free(ptx.data);

  /* The stages one after the other, as another compiler would run them. */
  MlirModule module = mlirModuleCreateParse(context, text(program));
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirOpPassManager passes = mlirPassManagerGetAsOpPassManager(manager);
  deploAddLinalgPipeline(passes, &options);
  deploAddGraphPipeline(passes, &options);
  deploAddLoopPipeline(passes, &options);
  deploAddTilePipeline(passes, &options);
  deploAddKernelPipeline(passes, &options);
  deploAddLLVMPipeline(passes, &options);
  EXPECT(mlirLogicalResultIsSuccess(
      mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))));
  Text llvm = {NULL, 0};
  mlirOperationPrint(mlirModuleGetOperation(module), append, &llvm);
  EXPECT(contains(&llvm, "llvm.func @"));
  free(llvm.data);
  mlirPassManagerDestroy(manager);
  mlirModuleDestroy(module);
  mlirContextDestroy(context);
  return failures;
}

int runTextualPipelineTest(void) {
  failures = 0;
  MlirContext context = createContext();
  Text errors = {NULL, 0};
  MlirPassManager manager = mlirPassManagerCreate(context);
  MlirLogicalResult result = mlirOpPassManagerAddPipeline(
      mlirPassManagerGetAsOpPassManager(manager),
      text("deplo-linalg-pipeline,deplo-graph-pipeline{target=sm_80},"
           "deplo-loop-pipeline"),
      append, &errors);
  EXPECT(mlirLogicalResultIsSuccess(result));
  EXPECT(errors.size == 0);
  MlirModule module = mlirModuleCreateParse(context, text(program));
  EXPECT(mlirLogicalResultIsSuccess(
      mlirPassManagerRunOnOp(manager, mlirModuleGetOperation(module))));
  free(errors.data);
  mlirModuleDestroy(module);
  mlirPassManagerDestroy(manager);
  mlirContextDestroy(context);
  return failures;
}

int runErrorsTest(void) {
  failures = 0;
  MlirContext context = createContext();
  Text messages = {NULL, 0};
  mlirContextAttachDiagnosticHandler(context, keepDiagnostic, &messages, NULL);

  EXPECT(mlirAttributeIsNull(deploTargetAttrGet(context, text("sm_1"))));
  EXPECT(contains(&messages, "unknown target 'sm_1', expected one of sm_80"));
  EXPECT(mlirAttributeIsNull(
      deploScheduleAttrGet(context, text("block = [3], warps = 4"))));
  EXPECT(!deploAttributeIsATarget(mlirAttributeGetNull()));
  EXPECT(!deploAttributeIsASchedule(mlirAttributeGetNull()));
  EXPECT(!deploAttributeIsADims(mlirAttributeGetNull()));

  DeploPipelineOptions options = deploPipelineOptionsDefault();
  options.target = text("sm_2");
  Text module = {NULL, 0};
  EXPECT(!runPipeline(context, deploAddCompilePipeline, &options, &module));
  EXPECT(contains(&messages, "unknown target 'sm_2'"));
  free(module.data);
  free(messages.data);
  mlirContextDestroy(context);
  return failures;
}
