// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches, calls and ends.

#include "Lanes.h"

using namespace deplo::emulator;

namespace {

void bra(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask == warp.mask) {
    warp.pc = inst.target;
    return;
  }
  Warp::Path paths[] = {{warp.pc, warp.mask & ~mask}, {inst.target, mask}};
  warp.divide(inst, paths, 2);
}

Handler selectBra(Form &form, Inst &inst) {
  inst.isBranch = true;
  form.decoder.setTarget(form.ast.operands[0]);
  return bra;
}

/// Sends each lane to where `target(lane)` says; lanes not in `mask` go on.
template <typename Function>
void dispatch(Warp &warp, const Inst &inst, uint32_t mask, Function &&target) {
  Warp::Path paths[lanesPerWarp + 1];
  size_t count = 0;
  if (warp.mask & ~mask)
    paths[count++] = {warp.pc, warp.mask & ~mask};
  while (mask != 0) {
    uint32_t pc = target(firstLane(mask)), lanes = 0;
    forLanes(mask, [&](unsigned lane) {
      lanes |= uint32_t(target(lane) == pc) << lane;
    });
    paths[count++] = {pc, lanes};
    mask &= ~lanes;
  }
  if (count == 1)
    warp.pc = paths[0].pc;
  else
    warp.divide(inst, paths, count);
}

/// a: the table.
void brx(Warp &warp, const Inst &inst, uint32_t mask) {
  const std::vector<uint32_t> &table = warp.grid->kernel->tables[inst.a];
  const uint32_t *index = warp.row<uint32_t>(inst.source(0));
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1)
    if (index[firstLane(rest)] >= table.size())
      return warp.fail(Fault::OutOfBounds, inst, int(firstLane(rest)),
                       "branch " + std::to_string(index[firstLane(rest)]) +
                           " of a table of " + std::to_string(table.size()));
  dispatch(warp, inst, mask, [&](unsigned lane) { return table[index[lane]]; });
}

Handler selectBrx(Form &form, Inst &inst) {
  inst.isBranch = true;
  inst.undefined = Undefined::Reject;
  form.decoder.addSource(form.ast.operands[0], Type::U32);
  inst.a = form.decoder.table(form.ast.operands[1]);
  return brx;
}

/// A warp's lanes call together.
void call(Warp &warp, const Inst &inst, uint32_t mask) {
  if (mask == warp.mask) {
    warp.splits[size_t(warp.current)].returns.push_back(warp.pc);
    warp.pc = inst.target;
    return;
  }
  Warp::Path paths[] = {{warp.pc, warp.mask & ~mask}, {warp.pc - 1, mask}};
  warp.divide(inst, paths, 2);
}

void unknownCall(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.fail(Fault::Unsupported, inst, int(firstLane(mask)),
            "the function has no body in this file");
}

void exitLanes(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.ending = &inst;
  warp.endLanes(mask);
}

/// Functions end with a return of their own; see the decoder.
void ret(Warp &warp, const Inst &inst, uint32_t mask) {
  std::vector<uint32_t> &returns = warp.splits[size_t(warp.current)].returns;
  if (returns.empty())
    return exitLanes(warp, inst, mask);
  warp.pc = returns.back();
  returns.pop_back();
}

Handler selectEnd(Form &form, Inst &inst) {
  inst.isEnd = true;
  return form.ast.opcode == "ret" ? ret : exitLanes;
}

void trap(Warp &warp, const Inst &inst, uint32_t mask) {
  warp.fail(Fault::Trap, inst, int(firstLane(mask)),
            "the kernel stopped itself");
}

void nothing(Warp &, const Inst &, uint32_t) {}

Handler selectNothing(Form &, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  return nothing;
}

/// No other grid runs: what is left is to remember who has waited.
void waitForGrids(Warp &warp, const Inst &, uint32_t mask) {
  warp.mayUseGlobal |= mask;
}

Handler selectGridDependency(Form &form, Inst &inst) {
  inst.undefined = Undefined::Ignore;
  return form.has("wait") ? waitForGrids : nothing;
}

/// nanosleep: lets others run.
void sleep(Warp &warp, const Inst &, uint32_t) { warp.stop = Stop::Quantum; }

const Definition table[] = {
    {"bra", "uni?", "@", selectBra},
    {"brx", "idx uni?", "...2", selectBrx},
    {"ret", "uni?", "", selectEnd},
    {"exit", "", "", selectEnd},
    {"trap", "", "",
     [](Form &, Inst &inst) -> Handler {
       inst.isEnd = true;
       return trap;
     }},
    {"brkpt", "", "", selectNothing},
    {"pmevent", "mask?", "@", selectNothing},
    {"nanosleep", "u32", "u32",
     [](Form &, Inst &) -> Handler { return sleep; }},
    {"griddepcontrol", "launch_dependents|wait", "", selectGridDependency},
};

} // namespace

DefinitionList deplo::emulator::controlDefinitions() { return listOf(table); }

Handler deplo::emulator::branchHandler() { return bra; }
Handler deplo::emulator::gridWaitHandler() { return waitForGrids; }
Handler deplo::emulator::callHandler() { return call; }
Handler deplo::emulator::returnHandler() { return ret; }
Handler deplo::emulator::unknownCallHandler() { return unknownCall; }
