// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "ControlFlow.h"
#include "State.h"

#include <algorithm>

using namespace deplo::emulator;

namespace {

/// Blocks in program order; one past the last is the virtual exit.
struct Graph {
  std::vector<uint32_t> first;
  std::vector<std::vector<uint32_t>> successors;
};

using Edges = std::vector<std::vector<uint32_t>>;

Edges reversed(const Edges &successors) {
  Edges predecessors(successors.size());
  for (uint32_t block = 0; block < successors.size(); ++block)
    for (uint32_t next : successors[block])
      predecessors[next].push_back(block);
  return predecessors;
}

/// The blocks that can be reached from `start`.
std::vector<bool> reachable(const Edges &edges, uint32_t start) {
  std::vector<bool> result(edges.size(), false);
  std::vector<uint32_t> work = {start};
  result[start] = true;
  while (!work.empty()) {
    uint32_t block = work.back();
    work.pop_back();
    for (uint32_t next : edges[block])
      if (!result[next]) {
        result[next] = true;
        work.push_back(next);
      }
  }
  return result;
}

/// The immediate post-dominator of each block, `exit` of those that have none
/// before the exit, by the iteration of Cooper, Harvey and Kennedy.
std::vector<uint32_t> postDominators(const Graph &graph) {
  const uint32_t count = uint32_t(graph.successors.size()), exit = count - 1;
  const Edges predecessors = reversed(graph.successors);
  // Post-order of the reverse graph from the exit.
  std::vector<uint32_t> order, number(count, ~0u);
  std::vector<std::pair<uint32_t, size_t>> stack = {{exit, 0}};
  std::vector<bool> seen(count, false);
  seen[exit] = true;
  while (!stack.empty()) {
    auto &[block, next] = stack.back();
    if (next < predecessors[block].size()) {
      uint32_t previous = predecessors[block][next++];
      if (!seen[previous]) {
        seen[previous] = true;
        stack.push_back({previous, 0});
      }
      continue;
    }
    number[block] = uint32_t(order.size());
    order.push_back(block);
    stack.pop_back();
  }
  std::vector<uint32_t> immediate(count, ~0u);
  immediate[exit] = exit;
  auto intersect = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b])
        a = immediate[a];
      while (number[b] < number[a])
        b = immediate[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
      if (*it == exit)
        continue;
      uint32_t result = ~0u;
      for (uint32_t next : graph.successors[*it])
        if (immediate[next] != ~0u)
          result = result == ~0u ? next : intersect(result, next);
      if (result != immediate[*it]) {
        immediate[*it] = result;
        changed = true;
      }
    }
  }
  return immediate;
}

} // namespace

void deplo::emulator::analyzeControlFlow(
    Kernel &kernel, uint32_t begin, uint32_t end,
    const std::map<uint32_t, std::vector<uint32_t>> &branchTargets) {
  if (begin == end)
    return;
  std::vector<Inst> &code = kernel.code;
  code[begin].isLeader = true;
  for (uint32_t pc = begin; pc < end; ++pc) {
    auto targets = branchTargets.find(pc);
    if (targets != branchTargets.end())
      for (uint32_t target : targets->second)
        code[target].isLeader = true;
    if ((code[pc].isBranch || code[pc].isEnd || code[pc].hasGuard) &&
        pc + 1 < end)
      code[pc + 1].isLeader = true;
  }
  Graph graph;
  std::map<uint32_t, uint32_t> blockOf;
  for (uint32_t pc = begin; pc < end; ++pc)
    if (code[pc].isLeader) {
      blockOf[pc] = uint32_t(graph.first.size());
      graph.first.push_back(pc);
    }
  const uint32_t exit = uint32_t(graph.first.size());
  graph.successors.resize(exit + 1);
  std::vector<uint32_t> lastOf(exit);
  for (uint32_t block = 0; block < exit; ++block) {
    uint32_t last = (block + 1 < exit ? graph.first[block + 1] : end) - 1;
    lastOf[block] = last;
    std::vector<uint32_t> &next = graph.successors[block];
    const Inst &inst = code[last];
    auto targets = branchTargets.find(last);
    if (targets != branchTargets.end())
      for (uint32_t target : targets->second)
        next.push_back(blockOf[target]);
    bool falls = inst.hasGuard || !(inst.isBranch || inst.isEnd);
    if (falls)
      next.push_back(last + 1 < end ? block + 1 : exit);
    else if (inst.isEnd)
      next.push_back(exit);
  }
  // The last end in the text that is ever come to is the one that counts.
  std::vector<bool> isReached = reachable(graph.successors, 0);
  uint32_t mainEnd = ~0u;
  for (uint32_t block = 0; block < exit; ++block)
    if (isReached[block] && std::find(graph.successors[block].begin(),
                                      graph.successors[block].end(),
                                      exit) != graph.successors[block].end())
      mainEnd = block;
  if (mainEnd != ~0u) {
    std::vector<bool> isLive = reachable(reversed(graph.successors), mainEnd);
    for (uint32_t block = 0; block < exit; ++block)
      if (isLive[block] && block != mainEnd) {
        std::vector<uint32_t> &next = graph.successors[block];
        next.erase(std::remove_if(
                       next.begin(), next.end(),
                       [&](uint32_t to) { return to == exit || !isLive[to]; }),
                   next.end());
      }
  }
  std::vector<uint32_t> immediate = postDominators(graph);
  for (uint32_t block = 0; block < exit; ++block) {
    Inst &last = code[lastOf[block]];
    uint32_t join = immediate[block];
    last.reconverge = join < exit ? graph.first[join] : noPc;
    // A guarded call or barrier is left by all at the next instruction.
    if (last.hasGuard && !last.isBranch && lastOf[block] + 1 < end)
      last.reconverge = lastOf[block] + 1;
  }
}
