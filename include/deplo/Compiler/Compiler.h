// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From IR text at any level to IR text at a later level or to a package.

#ifndef DEPLO_COMPILER_COMPILER_H
#define DEPLO_COMPILER_COMPILER_H

#include "deplo/Compiler/StepTrace.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

#include <optional>
#include <string>
#include <vector>

namespace deplo {

/// The levels of IR, in order.
enum class Level {
  Graph,
  Tensor,
  Loop,
  Tile,
  Kernel,
  LLVM,
  Ptx,
  Sass,
  Package
};

std::optional<Level> parseLevel(llvm::StringRef name);

struct CompileOptions {
  /// The chip, as sm_90a.
  std::string target = "sm_90a";
  /// "cuda", or "host" for the CPU that this runs on.
  std::string device = "cuda";
  /// Where to stop.
  Level level = Level::Package;
  /// Choices to fix, as "stage_inputs=always,warps=4".
  std::string schedule;
  /// What products of f32 may be computed in: "f32", by tensor cores where that
  /// is quicker and no less exact than by multiply-adds; "f32-fast", by quicker
  /// ones of factors in 22 bits, relative to the largest in their rows; "ieee",
  /// by multiply-adds alone; or "tf32".
  std::string precision = "f32";
  /// Whether launches that depend on weights alone run once for all calls,
  /// which takes memory for what they write.
  bool prepareWeights = false;
  /// A textual pass pipeline to run on the module in place of the default ones
  /// up to level tile.
  std::string passes;
  /// Keep the IR before and after each step.
  bool trace = false;
  /// Bytes that every pointer argument is aligned to, a power of two.
  int64_t alignment = 16;
  /// Assemble the PTX with ptxas for a package.
  bool ptxas = true;
  /// The package's name.
  std::string name = "main";
};

/// What the accesses of a scheduled kernel to one argument move.
struct BufferReport {
  std::string name;
  int64_t bytesRead = 0, bytesWritten = 0;
};

/// What a fusion pass made of two groups of operations, and why.
struct FusionDecision {
  std::string step; // as "fuse_vertical"
  bool isFused = false;
  std::string text;
};

/// An input of the program whose rows have scales, of which numbers far smaller
/// than the largest of a row lose bits: a view of it, and the dimension that
/// rows are along.
struct ScaledRows {
  int64_t input = 0, dim = 0, offset = 0;
  std::vector<int64_t> sizes, strides;
  /// The kernel that multiplies them.
  std::string kernel;
};

/// What is known of one kernel. Numbers that the level reached doesn't tell are
/// absent.
struct KernelReport {
  std::string name;
  /// How often a call launches it; the other numbers are of one launch.
  int64_t launches = 1;
  /// How often it is launched once for all calls, and what the launches write.
  int64_t preparedLaunches = 0, preparedBytes = 0;
  int64_t bytesRead = 0, bytesWritten = 0, flops = 0;
  /// The same as "16 * rows + 1200" where they depend on sizes that are known
  /// when the program runs; then the numbers are 0.
  std::string bytesReadFormula, bytesWrittenFormula, flopsFormula;
  double intensity = 0;
  /// "memory", "compute" or "launch": which bound of the roofline is highest,
  /// and that bound in microseconds.
  std::string bound;
  double rooflineMicroseconds = 0;
  std::string schedule, scheduleReason;
  /// Empty where nothing is scheduled or an access can't be counted.
  std::vector<BufferReport> traffic;
  /// Where a call gives sizes, there are mostBlocks, or nothing, in place of
  /// blocks.
  std::optional<int64_t> blocks, mostBlocks, threads, sharedBytes, registers,
      spillBytes, blocksPerMultiprocessor;
  std::optional<double> occupancy;
};

/// Calls `visit(name, field)` for each field of a kernel's report.
template <typename Report, typename Visit>
void forEachField(Report &&report, Visit &&visit) {
  visit("name", report.name);
  visit("launches", report.launches);
  visit("prepared_launches", report.preparedLaunches);
  visit("prepared_bytes", report.preparedBytes);
  visit("bytes_read", report.bytesRead);
  visit("bytes_written", report.bytesWritten);
  visit("flops", report.flops);
  visit("bytes_read_formula", report.bytesReadFormula);
  visit("bytes_written_formula", report.bytesWrittenFormula);
  visit("flops_formula", report.flopsFormula);
  visit("intensity", report.intensity);
  visit("bound", report.bound);
  visit("roofline_us", report.rooflineMicroseconds);
  visit("schedule", report.schedule);
  visit("schedule_reason", report.scheduleReason);
  visit("traffic", report.traffic);
  visit("blocks", report.blocks);
  visit("most_blocks", report.mostBlocks);
  visit("threads", report.threads);
  visit("shared_bytes", report.sharedBytes);
  visit("registers", report.registers);
  visit("spill_bytes", report.spillBytes);
  visit("occupancy", report.occupancy);
  visit("blocks_per_sm", report.blocksPerMultiprocessor);
}

llvm::json::Value toJSON(const BufferReport &buffer);
bool fromJSON(const llvm::json::Value &value, BufferReport &buffer,
              llvm::json::Path path);
llvm::json::Value toJSON(const FusionDecision &decision);
bool fromJSON(const llvm::json::Value &value, FusionDecision &decision,
              llvm::json::Path path);

llvm::json::Value toJSON(const ScaledRows &rows);
bool fromJSON(const llvm::json::Value &value, ScaledRows &rows,
              llvm::json::Path path);

/// All fields as JSON; those that are absent are null.
llvm::json::Object toJson(const KernelReport &kernel);

struct CompileResult {
  /// The text of the level asked for; empty for a package.
  std::string ir;
  std::vector<Step> steps;
  std::vector<KernelReport> kernels;
  std::vector<FusionDecision> fusion;
  /// With precision f32-fast.
  std::vector<ScaledRows> scaledRows;
  std::string package;
  /// Milliseconds by stage, in order.
  std::vector<std::pair<std::string, double>> timings;
  /// What went wrong without doing harm to the result, a sentence each.
  std::vector<std::string> warnings;
};

/// Why a compilation failed, in one readable paragraph, and the steps up to
/// there.
class CompileFailure : public llvm::ErrorInfo<CompileFailure> {
public:
  static char ID;

  CompileFailure(std::string message, std::vector<Step> steps)
      : message(std::move(message)), steps(std::move(steps)) {}

  void log(llvm::raw_ostream &os) const override { os << message; }
  std::error_code convertToErrorCode() const override {
    return llvm::inconvertibleErrorCode();
  }

  std::string message;
  std::vector<Step> steps;
};

class CompileCache;

/// Compiles `ir`, text or bytecode at any level. Fails with a CompileFailure.
/// With a cache, what it holds is not compiled again.
llvm::Expected<CompileResult> compile(llvm::StringRef ir,
                                      const CompileOptions &options,
                                      CompileCache *cache = nullptr);

} // namespace deplo

#endif // DEPLO_COMPILER_COMPILER_H
