// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "Reports.h"

#include "deplo/Dialect/Loop/Analysis/Contraction.h"
#include "deplo/Dialect/Loop/Analysis/KernelCost.h"
#include "deplo/Dialect/Loop/IR/Prepared.h"
#include "deplo/Dialect/SymbolicSizes.h"
#include "deplo/Dialect/Tile/Analysis/MemoryTraffic.h"
#include "deplo/Dialect/Tile/IR/Tile.h"
#include "deplo/Dialect/Tile/Transforms/Transforms.h"
#include "deplo/Target/Occupancy.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/ViewLikeInterface.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace deplo {

static KernelReport &getReport(std::vector<KernelReport> &reports,
                               StringRef name) {
  for (KernelReport &report : reports)
    if (report.name == name)
      return report;
  reports.emplace_back().name = name.str();
  return reports.back();
}

static std::string toString(Attribute attribute) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  attribute.print(stream);
  return text;
}

static int64_t getBytes(MemRefType type) {
  return type.getNumElements() *
         int64_t(llvm::divideCeil(type.getElementTypeBitWidth(), 8));
}

static void countLaunches(ModuleOp module, std::vector<KernelReport> &reports) {
  struct Count {
    int64_t launches = 0, prepared = 0, bytes = 0;
  };
  llvm::StringMap<Count> counts;
  llvm::SmallDenseSet<Value> written;
  module.walk([&](loop::LaunchOp launch) {
    Count &count = counts[launch.getKernel()];
    if (!loop::isPrepared(launch)) {
      ++count.launches;
      return;
    }
    ++count.prepared;
    // What no launch before has is what this one writes.
    for (Value buffer : launch.getBuffers())
      if (Value memory = loop::getMemory(buffer);
          memory.getDefiningOp() && written.insert(memory).second)
        count.bytes += getBytes(cast<MemRefType>(memory.getType()));
  });
  for (KernelReport &report : reports) {
    Count count = counts.lookup(report.name);
    report.preparedLaunches = count.prepared;
    report.preparedBytes = count.bytes;
    report.launches =
        count.prepared ? count.launches : std::max<int64_t>(count.launches, 1);
  }
}

/// The highest rate at which the target may compute `kernel`: contractions of
/// f16 and bf16, and of f32 as tf32 or in pieces of bf16, by tensor cores.
static double getFlopsPerSecond(loop::KernelOp kernel, tile::TargetAttr target,
                                StringRef precision) {
  double rate = target.getF32FlopsPerSecond();
  auto contraction = loop::findContraction(kernel);
  if (!contraction)
    return rate;
  Type element = contraction->lhs.value.getType();
  double ofHalves =
      std::max(target.getMmaFlopsPerSecond(), target.getWgmmaFlopsPerSecond());
  if (element.isF16() || element.isBF16())
    return std::max(rate, ofHalves);
  if (element.isInteger(8))
    return std::max(rate, 2 * ofHalves);
  if (!element.isF32() || precision == "ieee")
    return rate;
  double products = precision == "tf32" ? 2 : precision == "f32-fast" ? 3 : 6;
  return std::max(rate, ofHalves / products);
}

static constexpr double microsecondsPerSecond = 1e6,
                        microsecondsPerNanosecond = 1e-3;

/// The highest bound of a launch that computes for so many microseconds.
static void setRoofline(KernelReport &report, tile::TargetAttr target,
                        double computing) {
  std::pair<double, StringRef> bounds[] = {
      {double(report.bytesRead + report.bytesWritten) /
           target.getDramBytesPerSecond() * microsecondsPerSecond,
       "memory"},
      {computing, "compute"},
      {target.getLaunchNanoseconds() * microsecondsPerNanosecond, "launch"}};
  auto highest = *std::max_element(std::begin(bounds), std::end(bounds));
  report.rooflineMicroseconds = highest.first;
  report.bound = highest.second.str();
}

void collectCosts(ModuleOp module, StringRef precision,
                  std::vector<KernelReport> &reports) {
  auto target = module->getAttrOfType<tile::TargetAttr>("tile.target");
  SymbolicSizes sizes = SymbolicSizes::get(module);
  for (auto kernel : module.getOps<loop::KernelOp>()) {
    loop::KernelCost cost = loop::computeCost(kernel);
    KernelReport &report = getReport(reports, kernel.getSymName());
    if (!sizes.empty()) {
      report.bytesReadFormula = sizes.describeSum(cost.readTerms);
      report.bytesWrittenFormula = sizes.describeSum(cost.writtenTerms);
      report.flopsFormula = sizes.describeSum(cost.flopTerms);
      continue;
    }
    report.bytesRead = cost.bytesRead;
    report.bytesWritten = cost.bytesWritten;
    report.flops = cost.flops;
    report.intensity = cost.getIntensity();
    if (!target)
      continue;
    setRoofline(report, target,
                double(cost.flops) /
                    getFlopsPerSecond(kernel, target, precision) *
                    microsecondsPerSecond);
  }
  countLaunches(module, reports);
}

static void addTraffic(tile::KernelOp kernel, KernelReport &report) {
  auto traffic = tile::getMemoryTraffic(kernel);
  if (!traffic || !SymbolicSizes::get(kernel).empty())
    return;
  report.traffic.clear();
  for (auto [argument, buffer] :
       llvm::zip_equal(kernel.getMemrefs(), *traffic)) {
    auto name = argument.getLoc()->findInstanceOf<NameLoc>();
    report.traffic.push_back({name ? name.getName().str() : "",
                              buffer.bytesRead, buffer.bytesWritten});
  }
}

/// A report of what the parts of `concat` do together, in place of those of
/// kernels that are launched as parts only.
static void addConcat(tile::ConcatOp concat, tile::TargetAttr target,
                      std::vector<KernelReport> &reports) {
  KernelReport sum;
  sum.name = concat.getSymName().str();
  double computing = 0;
  for (tile::PartOp part : concat.getParts()) {
    const KernelReport &report = getReport(reports, part.getKernel());
    sum.bytesRead += report.bytesRead;
    sum.bytesWritten += report.bytesWritten;
    sum.flops += report.flops;
    if (report.bound == "compute")
      computing += report.rooflineMicroseconds;
    for (const BufferReport &buffer : report.traffic) {
      auto same = llvm::find_if(sum.traffic, [&](const BufferReport &other) {
        return other.name == buffer.name;
      });
      if (same == sum.traffic.end()) {
        sum.traffic.push_back(buffer);
        continue;
      }
      same->bytesRead += buffer.bytesRead;
      same->bytesWritten += buffer.bytesWritten;
    }
    if (sum.schedule.empty())
      sum.schedule = report.schedule;
  }
  if (int64_t bytes = sum.bytesRead + sum.bytesWritten)
    sum.intensity = double(sum.flops) / bytes;
  if (target)
    setRoofline(sum, target, computing);
  reports.push_back(std::move(sum));
}

void collectSchedules(ModuleOp module, std::vector<KernelReport> &reports) {
  for (auto kernel : module.getOps<tile::KernelOp>()) {
    KernelReport &report = getReport(reports, kernel.getSymName());
    if (kernel.getScheduleAttr())
      report.schedule = toString(kernel.getScheduleAttr());
    addTraffic(kernel, report);
  }
  llvm::StringSet<> parts;
  auto target = module->getAttrOfType<tile::TargetAttr>("tile.target");
  for (auto concat : module.getOps<tile::ConcatOp>()) {
    addConcat(concat, target, reports);
    for (tile::PartOp part : concat.getParts())
      parts.insert(part.getKernel());
  }
  llvm::StringSet<> launched;
  module.walk(
      [&](loop::LaunchOp launch) { launched.insert(launch.getKernel()); });
  llvm::erase_if(reports, [&](const KernelReport &report) {
    return parts.contains(report.name) && !launched.contains(report.name);
  });
  countLaunches(module, reports);
}

std::vector<ScaledRows> collectScaledRows(ModuleOp module) {
  std::vector<ScaledRows> found;
  SymbolTable symbols(module);
  module.walk([&](loop::LaunchOp launch) {
    auto kernel = symbols.lookup<tile::KernelOp>(launch.getKernel());
    if (!kernel)
      return;
    for (auto [argument, operand] :
         llvm::zip_equal(kernel.getMemrefs(), launch.getBuffers())) {
      Value scales = tile::getScales(kernel, argument);
      Value memory = operand;
      while (auto view = memory.getDefiningOp<ViewLikeOpInterface>())
        memory = view.getViewSource();
      auto input = dyn_cast<BlockArgument>(memory);
      // What the program computes has no values before it runs.
      if (!scales || !input ||
          launch->getParentOfType<FunctionOpInterface>().getArgAttr(
              input.getArgNumber(), "loop.result"))
        continue;
      auto type = cast<MemRefType>(operand.getType());
      auto [strides, offset] = type.getStridesAndOffset();
      ScaledRows rows;
      rows.input = input.getArgNumber();
      for (auto [dim, size] :
           llvm::enumerate(cast<MemRefType>(scales.getType()).getShape()))
        if (size != type.getDimSize(dim))
          rows.dim = dim;
      rows.offset = offset;
      rows.sizes.assign(type.getShape().begin(), type.getShape().end());
      rows.strides.assign(strides.begin(), strides.end());
      rows.kernel = kernel.getSymName().str();
      found.push_back(std::move(rows));
    }
  });
  return found;
}

std::vector<FusionDecision> collectFusion(ArrayRef<Step> steps) {
  std::vector<FusionDecision> decisions;
  for (const Step &step : steps) {
    StringRef name = StringRef(step.name).split(':').second;
    if (!name.starts_with("fuse_"))
      continue;
    for (const StepRemark &remark : step.remarks)
      if (remark.kind == "passed" || remark.kind == "missed")
        decisions.push_back({name.str(), remark.kind == "passed", remark.text});
  }
  return decisions;
}

void collectScheduleReasons(ArrayRef<Step> steps,
                            std::vector<KernelReport> &reports) {
  for (const Step &step : steps)
    if (step.pass == "deplo-select-schedule")
      for (const StepRemark &remark : step.remarks)
        for (KernelReport &report : reports)
          if (report.name == remark.kernel ||
              StringRef(report.name).starts_with(remark.kernel + "_and_"))
            report.scheduleReason = remark.text;
  // Why a kernel has a sum in parts comes first.
  for (const Step &step : steps)
    if (step.pass == "deplo-split-matmul-k")
      for (const StepRemark &remark : step.remarks)
        for (KernelReport &report : reports)
          if (remark.kind == "passed" &&
              (report.name == remark.kernel ||
               report.name == remark.kernel + "_parts"))
            report.scheduleReason = remark.text + "; " + report.scheduleReason;
}

std::vector<std::pair<std::string, std::string>>
findSlowWgmma(ModuleOp module, ArrayRef<KernelReport> reports) {
  std::vector<std::pair<std::string, std::string>> found;
  for (const KernelReport &report : reports) {
    if (!StringRef(report.schedule).contains("atom = wgmma"))
      continue;
    bool isSerialised = false;
    for (auto binary : module.getOps<gpu::BinaryOp>())
      if (auto kernels =
              cast<gpu::ObjectAttr>(binary.getObjects()[0]).getKernels())
        if (auto kernel = kernels.lookup(report.name))
          isSerialised |= static_cast<bool>(kernel.getAttr("serialised_wgmma"));
    std::string start =
        "kernel " + report.name + " is computed without wgmma: ";
    if (isSerialised)
      found.emplace_back(report.name,
                         start + "ptxas serialised its instructions");
    else if (report.spillBytes.value_or(0) != 0)
      found.emplace_back(report.name, start +
                                          std::to_string(*report.spillBytes) +
                                          " bytes of registers were spilled");
  }
  return found;
}

static void addOccupancy(ModuleOp module, KernelReport &report) {
  auto target = module->getAttrOfType<tile::TargetAttr>("tile.target");
  if (!target || !report.registers || !report.threads)
    return;
  report.blocksPerMultiprocessor =
      getBlocksPerMultiprocessor(target, *report.threads, *report.registers,
                                 report.sharedBytes.value_or(0));
  constexpr int64_t threadsPerWarp = 32;
  report.occupancy = static_cast<double>(*report.blocksPerMultiprocessor *
                                         *report.threads / threadsPerWarp) /
                     target.getWarpsPerMultiprocessor();
}

static void addLaunch(KernelReport &report, tile::LaunchAttr launch,
                      bool isSymbolic, IntegerAttr mostBlocks) {
  if (!launch)
    return;
  if (!isSymbolic)
    report.blocks = launch.getBlocks();
  if (mostBlocks)
    report.mostBlocks = mostBlocks.getInt();
  report.threads = launch.getThreads();
  report.sharedBytes = launch.getSharedBytes();
}

void collectResources(ModuleOp module, std::vector<KernelReport> &reports) {
  module.walk([&](LLVM::LLVMFuncOp function) {
    if (auto launch = function->getAttrOfType<tile::LaunchAttr>("tile.launch"))
      addLaunch(getReport(reports, function.getSymName()), launch,
                function->hasAttr("tile.grid"),
                function->getAttrOfType<IntegerAttr>("tile.most_blocks"));
  });
  for (auto binary : module.getOps<gpu::BinaryOp>()) {
    gpu::KernelTableAttr kernels =
        cast<gpu::ObjectAttr>(binary.getObjects()[0]).getKernels();
    if (!kernels)
      continue;
    for (gpu::KernelMetadataAttr kernel : kernels) {
      KernelReport &report = getReport(reports, kernel.getName());
      addLaunch(report, kernel.getAttr<tile::LaunchAttr>("launch"),
                static_cast<bool>(kernel.getAttr<DenseI64ArrayAttr>("grid")),
                kernel.getAttr<IntegerAttr>("most_blocks"));
      if (auto registers = kernel.getAttr<IntegerAttr>("registers"))
        report.registers = registers.getInt();
      if (auto spills = kernel.getAttr<IntegerAttr>("spill_bytes"))
        report.spillBytes = spills.getInt();
      addOccupancy(module, report);
    }
  }
}

} // namespace deplo
