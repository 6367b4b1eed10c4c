// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "deplo/Compiler/Compiler.h"

#include "Reports.h"

#include "deplo/Compiler/CompileCache.h"
#include "deplo/Conversion/LinalgToGraph.h"
#include "deplo/Conversion/Passes.h"
#include "deplo/Dialect/Graph/IR/Graph.h"
#include "deplo/Dialect/Loop/IR/Loop.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Execution/HostCompiler.h"
#include "deplo/InitAll.h"
#include "deplo/Pipelines/Pipelines.h"
#include "deplo/Target/NVPTX.h"
#include "deplo/Target/Passes.h"
#include "deplo/Target/TargetDescription.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Target/TargetMachine.h"

#include <chrono>
#include <mutex>

using namespace mlir;

namespace deplo {

char CompileFailure::ID = 0;

std::optional<Level> parseLevel(StringRef name) {
  return llvm::StringSwitch<std::optional<Level>>(name)
      .Case("graph", Level::Graph)
      .Case("tensor", Level::Tensor)
      .Case("loop", Level::Loop)
      .Case("tile", Level::Tile)
      .Case("kernel", Level::Kernel)
      .Case("llvm", Level::LLVM)
      .Case("ptx", Level::Ptx)
      .Case("sass", Level::Sass)
      .Case("package", Level::Package)
      .Default(std::nullopt);
}

namespace {

/// One compilation: a module on its way down the levels.
class Compilation {
public:
  explicit Compilation(const CompileOptions &options)
      : options(options),
        context(getRegistry(), MLIRContext::Threading::DISABLED),
        trace(options.trace) {
    trace.enableRemarks(context);
  }

  llvm::Expected<CompileResult> run(StringRef ir, CompileCache *cache);

private:
  static const DialectRegistry &getRegistry() {
    static const DialectRegistry registry = [] {
      DialectRegistry registry;
      registerAllDialects(registry);
      return registry;
    }();
    return registry;
  }

  LogicalResult checkOptions();
  LogicalResult parse(StringRef ir);
  /// Runs the stages up to the level asked for; fills `result`.
  LogicalResult lower();
  LogicalResult lowerLoops();
  LogicalResult scheduleLoops();
  LogicalResult lowerToDevice();
  bool runsPtxas() {
    return options.level == Level::Sass ||
           (options.level == Level::Package && options.ptxas);
  }
  LogicalResult lowerToHost();
  LogicalResult
  runStage(StringRef name,
           llvm::function_ref<LogicalResult(OpPassManager &)> build);
  LogicalResult emitText();
  template <typename OpT> bool contains() {
    return !module->getOps<OpT>().empty();
  }
  std::string printModule();
  LogicalResult error(const llvm::Twine &message) {
    return emitError(UnknownLoc::get(&context), message);
  }

  const CompileOptions &options;
  CompilePipelineOptions pipelineOptions;
  MLIRContext context;
  StepTrace trace;
  OwningOpRef<ModuleOp> module;
  CompileResult result;
  /// Sentences about kernels that were scheduled again.
  std::vector<std::string> fallbacks;
};

/// The first error with its place and notes, as one paragraph.
std::string describe(Diagnostic &diagnostic) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  Location location = diagnostic.getLocation();
  if (auto file = location->findInstanceOf<FileLineColLoc>())
    stream << file.getFilename().getValue() << ":" << file.getLine() << ": ";
  stream << diagnostic.str();
  for (Diagnostic &note : diagnostic.getNotes())
    if (!StringRef(note.str()).starts_with("see current operation"))
      stream << "; " << note.str();
  return text;
}

llvm::Expected<CompileResult> Compilation::run(StringRef ir,
                                               CompileCache *cache) {
  std::string firstError;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error &&
        firstError.empty())
      firstError = describe(diagnostic);
    return success();
  });
  auto makeError = [&] {
    return llvm::make_error<CompileFailure>(
        firstError.empty() ? "compilation failed without a message"
                           : firstError,
        trace.getSteps());
  };
  auto lowerAll = [&]() -> llvm::Expected<CompileResult> {
    if (failed(lower()))
      return makeError();
    result.steps = trace.getSteps();
    return std::move(result);
  };
  if (failed(checkOptions()) || failed(parse(ir)))
    return makeError();
  if (!cache || !isCacheable(options))
    return lowerAll();
  return cache->get(getCacheKey(*module, options), lowerAll);
}

LogicalResult Compilation::checkOptions() {
  if (options.device != "cuda" && options.device != "host")
    return error("unknown device " + options.device +
                 ", expected cuda or host");
  if (!findTarget(options.target))
    return error("unknown target " + options.target + ", expected one of " +
                 listTargets());
  if (options.alignment < 1 || !llvm::isPowerOf2_64(options.alignment))
    return error("alignment of " + llvm::Twine(options.alignment) +
                 " bytes is not a power of two");
  if (!tile::findPrecision(options.precision))
    return error("there is no precision '" + llvm::Twine(options.precision) +
                 "', expected " + tile::namesOfPrecisions);
  if (options.device == "host" &&
      llvm::is_contained({Level::Tile, Level::Ptx, Level::Sass}, options.level))
    return error("device host goes from level loop to kernel, llvm and "
                 "package; tile, ptx and sass are levels of cuda");
  pipelineOptions.target = options.target;
  pipelineOptions.schedule = options.schedule;
  pipelineOptions.precision = options.precision;
  pipelineOptions.prepareWeights = options.prepareWeights;
  pipelineOptions.alignment = options.alignment;
  return success();
}

LogicalResult Compilation::parse(StringRef ir) {
  module =
      parseSourceString<ModuleOp>(ir, ParserConfig(&context), options.name);
  return success(static_cast<bool>(module));
}

LogicalResult Compilation::runStage(
    StringRef name, llvm::function_ref<LogicalResult(OpPassManager &)> build) {
  PassManager manager(&context);
  manager.addInstrumentation(trace.createInstrumentation());
  if (failed(build(manager)))
    return failure();
  auto start = std::chrono::steady_clock::now();
  LogicalResult status = manager.run(*module);
  double milliseconds = std::chrono::duration<double, std::milli>(
                            std::chrono::steady_clock::now() - start)
                            .count();
  // A stage may run again.
  auto known = llvm::find_if(
      result.timings, [&](const auto &entry) { return entry.first == name; });
  if (known != result.timings.end())
    known->second += milliseconds;
  else
    result.timings.emplace_back(name, milliseconds);
  return status;
}

LogicalResult Compilation::lower() {
  // A stage runs if the module holds its input and the level asked for is its
  // output or beyond: any printed level can be compiled on from there.
  auto stage = [&](Level level, bool hasInput, StringRef name,
                   auto build) -> LogicalResult {
    if (options.level < level || !hasInput)
      return success();
    return runStage(name, [&](OpPassManager &manager) {
      build(manager, pipelineOptions);
      return success();
    });
  };
  if (!options.passes.empty()) {
    if (failed(runStage("passes", [&](OpPassManager &manager) {
          std::string message;
          llvm::raw_string_ostream stream(message);
          if (failed(parsePassPipeline(options.passes, manager, stream)))
            return error("cannot parse the passes: " + message);
          return success();
        })))
      return failure();
  } else {
    bool isGraph =
        llvm::any_of(module->getOps<func::FuncOp>(), [](func::FuncOp function) {
          return llvm::none_of(function.getArgumentTypes(),
                               llvm::IsaPred<MemRefType>) &&
                 function.getNumResults() != 0;
        });
    bool isLinalg =
        llvm::any_of(module->getOps<func::FuncOp>(), holdsForeignTensorOps);
    if (failed(stage(Level::Graph, isLinalg, "linalg", buildLinalgPipeline)) ||
        failed(stage(Level::Tensor, isGraph, "graph", buildGraphPipeline)) ||
        failed(stage(Level::Loop, isGraph, "loop", buildLoopPipeline)))
      return failure();
    collectCosts(*module, options.precision, result.kernels);
    result.fusion = collectFusion(trace.getSteps());
  }
  if (options.device == "host" && options.level > Level::Loop)
    return lowerToHost();
  if (options.device == "cuda" && failed(lowerLoops()))
    return failure();
  collectScheduleReasons(trace.getSteps(), result.kernels);
  return emitText();
}

/// Kernels by wgmma of which ptxas makes slow code are scheduled again, for
/// mma.sync or multiply-adds, unless their schedule was given.
LogicalResult Compilation::lowerLoops() {
  bool hasLoops = options.passes.empty() && options.level >= Level::Tile &&
                  contains<loop::KernelOp>();
  bool mayFallBack = hasLoops && runsPtxas() && options.schedule.empty();
  OwningOpRef<ModuleOp> loops;
  if (mayFallBack)
    loops = module->clone();
  std::vector<KernelReport> kernels = result.kernels;
  size_t steps = trace.getSteps().size();
  for (;;) {
    if (hasLoops && failed(scheduleLoops()))
      return failure();
    if (failed(lowerToDevice()))
      return failure();
    auto slow = findSlowWgmma(*module, result.kernels);
    if (!mayFallBack || slow.empty())
      return success();
    std::vector<std::string> &without = pipelineOptions.withoutWgmma;
    for (auto &[kernel, sentence] : slow) {
      without.push_back(kernel);
      fallbacks.push_back(sentence);
    }
    result.kernels = kernels;
    trace.truncate(steps);
    module = loops->clone();
  }
}

/// What kernels cost is counted when all of them are there.
LogicalResult Compilation::scheduleLoops() {
  auto run = [&](auto build) {
    return runStage("tile", [&](OpPassManager &manager) {
      build(manager, pipelineOptions);
      return success();
    });
  };
  if (failed(run(buildDivisionPipeline)))
    return failure();
  result.kernels.clear();
  collectCosts(*module, options.precision, result.kernels);
  return run(buildSchedulePipeline);
}

LogicalResult Compilation::lowerToHost() {
  if (contains<loop::KernelOp>() &&
      failed(runStage("kernel", [](OpPassManager &manager) {
        manager.addPass(createLoopToLLVMPass());
        return success();
      })))
    return failure();
  if (options.level == Level::Kernel)
    return emitText();
  auto start = std::chrono::steady_clock::now();
  bool isPackage = options.level == Level::Package;
  FailureOr<std::string> made = isPackage
                                    ? compileHostPackage(*module, options.name)
                                    : emitHostLLVMIR(*module);
  if (failed(made))
    return failure();
  (isPackage ? result.package : result.ir) = std::move(*made);
  result.timings.emplace_back("host",
                              std::chrono::duration<double, std::milli>(
                                  std::chrono::steady_clock::now() - start)
                                  .count());
  return success();
}

LogicalResult Compilation::lowerToDevice() {
  auto stage = [&](bool runs, StringRef name, auto build) -> LogicalResult {
    if (!runs)
      return success();
    return runStage(name, [&](OpPassManager &manager) {
      build(manager);
      return success();
    });
  };
  collectSchedules(*module, result.kernels);
  if (options.level >= Level::Tile && contains<tile::KernelOp>())
    result.scaledRows = collectScaledRows(*module);
  if (failed(stage(options.level >= Level::Kernel && contains<tile::KernelOp>(),
                   "kernel",
                   [&](OpPassManager &manager) {
                     buildKernelPipeline(manager, pipelineOptions);
                   })) ||
      failed(stage(options.level >= Level::LLVM && contains<gpu::GPUModuleOp>(),
                   "llvm",
                   [&](OpPassManager &manager) {
                     buildLLVMPipeline(manager, pipelineOptions);
                   })) ||
      failed(stage(options.level >= Level::Ptx && contains<gpu::GPUModuleOp>(),
                   "ptx",
                   [&](OpPassManager &manager) {
                     manager.addPass(createKernelToPtxPass());
                   })) ||
      failed(stage(runsPtxas(), "ptxas", [&](OpPassManager &manager) {
        // Whoever fixed the schedule can change it.
        PtxasPassOptions ptxasOptions;
        ptxasOptions.allowSpills = options.schedule.empty();
        ptxasOptions.allowSerialised = options.schedule.empty();
        manager.addPass(createPtxasPass(ptxasOptions));
      })))
    return failure();
  collectResources(*module, result.kernels);
  result.warnings = fallbacks;
  for (const KernelReport &kernel : result.kernels)
    if (kernel.spillBytes.value_or(0) != 0)
      result.warnings.push_back(
          llvm::formatv("kernel {0} spills {1} bytes of registers, which costs "
                        "time; a smaller block or chunk, or more warps, in its "
                        "schedule may avoid it",
                        kernel.name, *kernel.spillBytes));
  return success();
}

std::string Compilation::printModule() {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().enableDebugInfo(false));
  stream << "\n";
  return text;
}

LogicalResult Compilation::emitText() {
  switch (options.level) {
  case Level::Graph:
  case Level::Tensor:
  case Level::Loop:
  case Level::Tile:
  case Level::Kernel:
    result.ir = printModule();
    return success();
  case Level::LLVM: {
    for (auto device : module->getOps<gpu::GPUModuleOp>()) {
      std::unique_ptr<llvm::TargetMachine> machine =
          createTargetMachine(device);
      if (!machine)
        return failure();
      llvm::LLVMContext llvmContext;
      std::unique_ptr<llvm::Module> llvmModule =
          translateToLLVMIR(device, *machine, llvmContext);
      if (!llvmModule)
        return failure();
      llvm::raw_string_ostream(result.ir) << *llvmModule;
    }
    return success();
  }
  case Level::Ptx:
    for (auto binary : module->getOps<gpu::BinaryOp>())
      result.ir += getObject(binary, gpu::CompilationTarget::Assembly).str();
    return success();
  case Level::Sass:
    for (auto binary : module->getOps<gpu::BinaryOp>()) {
      FailureOr<std::string> text = disassemble(binary);
      if (failed(text))
        return failure();
      result.ir += *text;
    }
    return success();
  case Level::Package: {
    FailureOr<std::string> package = createDevicePackage(*module, options);
    if (failed(package))
      return failure();
    result.package = std::move(*package);
    return success();
  }
  }
  llvm_unreachable("unknown level");
}

} // namespace

llvm::Expected<CompileResult>
compile(StringRef ir, const CompileOptions &options, CompileCache *cache) {
  static std::once_flag registered;
  std::call_once(registered, [] { registerAllPasses(); });
  return Compilation(options).run(ir, cache);
}

} // namespace deplo
