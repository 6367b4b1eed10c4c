// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counters as JSON and as a table.

#include "deplo/Emulator/Emulator.h"

#include <cstdio>
#include <map>

using namespace deplo::emulator;

double Counters::coalescing() const {
  constexpr double sectorBytes = 32;
  uint64_t bytes = globalLoadBytes + globalStoreBytes;
  return globalSectors ? double(bytes) / (double(globalSectors) * sectorBytes)
                       : 1;
}

double Counters::conflictDegree() const {
  return sharedIdealWavefronts
             ? double(sharedWavefronts) / double(sharedIdealWavefronts)
             : 1;
}

static std::string quote(const std::string &text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
      result += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      result += ' ';
    } else {
      result += c;
    }
  }
  return result + '"';
}

static std::string fixed(double value) {
  char text[32];
  std::snprintf(text, sizeof(text), "%.3f", value);
  return text;
}

/// Executions of each opcode, by warps.
static std::map<std::string, uint64_t>
instructionMix(const Counters &counters) {
  std::map<std::string, uint64_t> mix;
  for (const InstructionCounters &entry : counters.instructions)
    mix[entry.opcode] += entry.warps;
  return mix;
}

std::string deplo::emulator::countersJson(const Counters &counters) {
  auto member = [](const char *key, uint64_t value) {
    return "\"" + std::string(key) + "\":" + std::to_string(value) + ",";
  };
  std::string text =
      "{" + member("warp_instructions", counters.warpInstructions) +
      member("thread_instructions", counters.threadInstructions) +
      member("global_load_bytes", counters.globalLoadBytes) +
      member("global_store_bytes", counters.globalStoreBytes) +
      member("global_sectors", counters.globalSectors) +
      member("global_requests", counters.globalRequests) +
      member("shared_bytes", counters.sharedBytes) +
      member("shared_wavefronts", counters.sharedWavefronts) +
      member("shared_ideal_wavefronts", counters.sharedIdealWavefronts) +
      member("shared_requests", counters.sharedRequests) +
      member("local_bytes", counters.localBytes) +
      member("barriers", counters.barriers) +
      member("divergent_branches", counters.divergentBranches) +
      member("tensor_operations", counters.tensorOperations) +
      "\"coalescing\":" + fixed(counters.coalescing()) +
      ",\"conflict_degree\":" + fixed(counters.conflictDegree()) + ",\"mix\":{";
  bool isFirst = true;
  for (const auto &[opcode, count] : instructionMix(counters)) {
    text += (isFirst ? "" : ",") + quote(opcode) + ":" + std::to_string(count);
    isFirst = false;
  }
  text += "},\"instructions\":[";
  isFirst = true;
  for (const InstructionCounters &entry : counters.instructions) {
    text += isFirst ? "{" : ",{";
    isFirst = false;
    text += "\"line\":" + std::to_string(entry.line) +
            ",\"text\":" + quote(entry.text) +
            ",\"warps\":" + std::to_string(entry.warps) +
            ",\"threads\":" + std::to_string(entry.threads);
    const std::pair<const char *, uint64_t> optional[] = {
        {"divergent", entry.divergent},
        {"requests", entry.requests},
        {"bytes", entry.bytes},
        {"access_bytes", entry.accessBytes},
        {"sectors", entry.sectors},
        {"wavefronts", entry.wavefronts},
        {"ideal_wavefronts", entry.idealWavefronts},
        {"max_wavefronts", entry.maxWavefronts},
        {"tensor_operations", entry.tensorOperations}};
    for (auto [key, value] : optional)
      if (value)
        text += ",\"" + std::string(key) + "\":" + std::to_string(value);
    text += "}";
  }
  return text + "]}";
}

std::string deplo::emulator::countersTable(const Counters &counters) {
  std::string text;
  auto row = [&](const char *name, const std::string &value) {
    char line[128];
    std::snprintf(line, sizeof(line), "%-28s %16s\n", name, value.c_str());
    text += line;
  };
  row("warp instructions", std::to_string(counters.warpInstructions));
  row("thread instructions", std::to_string(counters.threadInstructions));
  row("global bytes loaded", std::to_string(counters.globalLoadBytes));
  row("global bytes stored", std::to_string(counters.globalStoreBytes));
  row("global sectors", std::to_string(counters.globalSectors));
  row("coalescing", fixed(counters.coalescing()));
  row("shared bytes", std::to_string(counters.sharedBytes));
  row("shared wavefronts", std::to_string(counters.sharedWavefronts));
  row("bank conflict degree", fixed(counters.conflictDegree()));
  row("local bytes", std::to_string(counters.localBytes));
  row("barriers", std::to_string(counters.barriers));
  row("divergent branches", std::to_string(counters.divergentBranches));
  row("tensor operations", std::to_string(counters.tensorOperations));
  text += "\n line      warps  lanes  bytes  sectors/req  wavefronts/req  "
          "instruction\n";
  for (const InstructionCounters &entry : counters.instructions) {
    char line[160];
    double lanes =
        entry.warps ? double(entry.threads) / double(entry.warps) : 0;
    auto perRequest = [&](uint64_t value) {
      return entry.requests && value
                 ? fixed(double(value) / double(entry.requests))
                 : std::string("-");
    };
    std::snprintf(line, sizeof(line), "%5u %10llu %6.1f %6s %12s %15s  ",
                  entry.line, (unsigned long long)entry.warps, lanes,
                  entry.accessBytes ? std::to_string(entry.accessBytes).c_str()
                                    : "-",
                  perRequest(entry.sectors).c_str(),
                  perRequest(entry.wavefronts).c_str());
    text += line + entry.text + "\n";
  }
  return text;
}
