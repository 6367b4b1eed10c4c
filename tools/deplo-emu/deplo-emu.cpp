// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs a kernel of a PTX file on the CPU, checks it and counts what it does.

#include "Arguments.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>

using namespace deplo::emulator;
using deplo::runtime::Result;

static const char usage[] =
    R"(deplo-emu FILE.ptx [options]: runs a PTX kernel on the CPU, with checks

Without --grid it lists the kernels of the file.

  --kernel NAME       the kernel; not needed if there is one
  --grid X[,Y[,Z]]    blocks
  --block X[,Y[,Z]]   threads of a block
  --cluster X[,Y[,Z]] blocks of a cluster; default, as the kernel says
  --shared BYTES      dynamic shared memory
  --arg TYPE[EXTENTS]=VALUE
                      the next parameter. TYPE is u8 ... i64, f16, bf16, f32 or
                      f64. With extents, as f32[64x32], it is a buffer, and
                      VALUE is zero, none (not initialized), iota, random, a
                      number or @FILE. Without, VALUE is a number.
  --print N[:COUNT]   prints the first elements of buffer N (from 0) at the end
  --json              prints counters and findings as JSON
  --table             prints counters as a table
  --no-races          doesn't look for data races
  --no-uninitialized  doesn't look for reads of what nothing wrote
  --workers N         host threads; default, all cores
  --budget N          warp instructions after which the grid is stopped
  --stack BYTES       of a thread, for functions that call themselves; 65536

Exit status: 0 if nothing is wrong, 1 if there are findings, 2 for a wrong
command line or file.
)";

namespace {

struct Options {
  std::string file;
  Launch launch;
  std::vector<Argument> arguments;
  std::vector<std::pair<unsigned, uint64_t>> prints;
  bool hasGrid = false, printsJson = false, printsTable = false;
};

int complain(const std::string &message) {
  std::fprintf(stderr, "deplo-emu: %s\n", message.c_str());
  return 2;
}

bool parseExtent(const char *text, Extent &extent) {
  extent = {1, 1, 1};
  for (unsigned i = 0; i < 3; ++i) {
    char *end = nullptr;
    extent[i] = uint32_t(std::strtoul(text, &end, 10));
    if (end == text)
      return false;
    if (*end == '\0')
      return true;
    if (*end != ',')
      return false;
    text = end + 1;
  }
  return false;
}

/// An error, or an empty string.
std::string parseOptions(int count, char **words, Options &options) {
  for (int i = 1; i < count; ++i) {
    std::string word = words[i];
    if (word == "--json") {
      options.printsJson = true;
    } else if (word == "--table") {
      options.printsTable = true;
    } else if (word == "--no-races") {
      options.launch.checks.races = false;
    } else if (word == "--no-uninitialized") {
      options.launch.checks.uninitialized = false;
    } else if (word.substr(0, 2) != "--") {
      if (!options.file.empty())
        return "one file at a time; got '" + options.file + "' and '" + word +
               "'";
      options.file = word;
    } else if (i + 1 == count) {
      return "'" + word + "' is unknown or needs a value; see --help";
    } else {
      const char *value = words[++i];
      bool isGood = true;
      if (word == "--kernel")
        options.launch.kernel = value;
      else if (word == "--grid")
        isGood = options.hasGrid = parseExtent(value, options.launch.grid);
      else if (word == "--block")
        isGood = parseExtent(value, options.launch.block);
      else if (word == "--cluster")
        isGood = parseExtent(value, options.launch.cluster);
      else if (word == "--shared")
        options.launch.dynamicSharedBytes = uint32_t(std::atoi(value));
      else if (word == "--workers")
        options.launch.workers = unsigned(std::atoi(value));
      else if (word == "--budget")
        options.launch.instructionBudget = std::strtoull(value, nullptr, 10);
      else if (word == "--stack")
        options.launch.stackBytes = std::strtoull(value, nullptr, 10);
      else if (word == "--print") {
        char *end = nullptr;
        auto number = unsigned(std::strtoul(value, &end, 10));
        uint64_t shown = *end == ':' ? std::strtoull(end + 1, nullptr, 10) : 8;
        options.prints.push_back({number, shown});
      } else if (word == "--arg") {
        Result<Argument> argument =
            parseArgument(value, unsigned(options.arguments.size()));
        if (!argument.ok())
          return argument.message();
        options.arguments.push_back(std::move(*argument));
      } else {
        return "there is no option '" + word + "'; see --help";
      }
      if (!isGood)
        return "'" + word + "' takes extents as '4,2,1'";
    }
  }
  return options.file.empty() ? "expected a PTX file; see --help" : "";
}

void listKernels(const Program &program) {
  for (const KernelSummary &kernel : program.kernels()) {
    std::printf("%s(", kernel.name.c_str());
    for (size_t i = 0; i < kernel.parameters.size(); ++i)
      std::printf("%s%s: %u", i ? ", " : "", kernel.parameters[i].name.c_str(),
                  kernel.parameters[i].bytes);
    std::printf(") shared %u, local %u bytes\n", kernel.staticSharedBytes,
                kernel.localBytes);
  }
}

/// Puts the arguments where the kernel's parameters are; an error or "".
std::string placeArguments(const KernelSummary &kernel, Options &options) {
  if (options.arguments.size() != kernel.parameters.size())
    return "kernel '" + kernel.name + "' takes " +
           std::to_string(kernel.parameters.size()) + " arguments, got " +
           std::to_string(options.arguments.size());
  options.launch.parameters.assign(kernel.parameterBytes, 0);
  for (size_t i = 0; i < options.arguments.size(); ++i) {
    Argument &argument = options.arguments[i];
    const ParameterInfo &parameter = kernel.parameters[i];
    const void *from = argument.bytes.data();
    size_t bytes = argument.bytes.size();
    void *pointer = argument.bytes.data();
    if (argument.isBuffer) {
      options.launch.regions.push_back({"argument " + std::to_string(i),
                                        pointer, bytes, true,
                                        argument.isInitialized});
      from = &pointer;
      bytes = sizeof(pointer);
    }
    if (bytes != parameter.bytes)
      return "parameter '" + parameter.name + "' has " +
             std::to_string(parameter.bytes) + " bytes, argument " +
             std::to_string(i) + " has " + std::to_string(bytes);
    std::memcpy(options.launch.parameters.data() + parameter.offset, from,
                bytes);
  }
  return "";
}

std::string quoted(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      result += '\\';
    result += c;
  }
  return result + '"';
}

void printOutcome(const Options &options, const Outcome &outcome) {
  for (auto [number, count] : options.prints) {
    if (number >= options.arguments.size())
      continue;
    const Argument &argument = options.arguments[number];
    std::printf("argument %u:", number);
    for (uint64_t i = 0; i < count && i < argument.elements; ++i)
      std::printf(" %s", argument.element(i).c_str());
    std::printf("\n");
  }
  if (options.printsJson) {
    std::string findings;
    for (const Diagnostic &diagnostic : outcome.diagnostics)
      findings += (findings.empty() ? "" : ",") + quoted(diagnostic.text());
    std::printf("{\"seconds\":%.6f,\"findings\":[%s],\"counters\":%s}\n",
                outcome.seconds, findings.c_str(),
                countersJson(outcome.counters).c_str());
    return;
  }
  if (options.printsTable)
    std::fputs(countersTable(outcome.counters).c_str(), stdout);
  for (const Diagnostic &diagnostic : outcome.diagnostics)
    std::fprintf(stderr, "%s:%s\n", options.file.c_str(),
                 diagnostic.text().c_str());
}

} // namespace

int main(int count, char **words) {
  if (count == 2 && std::string_view(words[1]) == "--help") {
    std::fputs(usage, stdout);
    return 0;
  }
  Options options;
  std::string error = parseOptions(count, words, options);
  if (!error.empty())
    return complain(error);
  std::ifstream file(options.file, std::ios::binary);
  if (!file)
    return complain("can't read '" + options.file + "'");
  std::string text(std::istreambuf_iterator<char>(file), {});
  Result<std::shared_ptr<Program>> program = Program::load(text);
  if (!program.ok())
    return complain(options.file + ":" + program.message());
  if (!options.hasGrid) {
    listKernels(**program);
    return 0;
  }
  std::vector<KernelSummary> kernels = (*program)->kernels();
  if (options.launch.kernel.empty() && kernels.size() == 1)
    options.launch.kernel = kernels[0].name;
  const KernelSummary *kernel = nullptr;
  for (const KernelSummary &each : kernels)
    if (each.name == options.launch.kernel)
      kernel = &each;
  if (!kernel)
    return complain("the file has " + std::to_string(kernels.size()) +
                    " kernels; choose one with --kernel");
  error = placeArguments(*kernel, options);
  if (!error.empty())
    return complain(error);
  Outcome outcome = (*program)->run(options.launch);
  printOutcome(options, outcome);
  return outcome.ok() ? 0 : 1;
}
