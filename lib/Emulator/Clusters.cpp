// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// setmaxnreg, and stores to other blocks that complete on a memory barrier.

#include "Lanes.h"
#include "MBarriers.h"
#include "Memory.h"
#include "Reduction.h"

using namespace deplo::emulator;

namespace {

/// The warp gives registers back, or waits until the block has enough. The
/// pool is what the block was launched with. a: registers; b: more.
void setMaxRegisters(Warp &warp, const Inst &inst, uint32_t mask) {
  Block &block = *warp.block;
  int64_t change = (int64_t(inst.a) - warp.registerBudget) * lanesPerWarp;
  if (mask != warp.live)
    return warp.fail(Fault::BarrierDivergence, inst, int(firstLane(mask)),
                     "all threads of the warp must execute setmaxnreg");
  if (!inst.b && change > 0)
    return warp.fail(Fault::Resources, inst, int(firstLane(mask)),
                     "setmaxnreg.dec to " + std::to_string(inst.a) +
                         " registers, the thread has " +
                         std::to_string(warp.registerBudget));
  if (inst.b && change < 0) {
    // Without .maxnreg the assembler gave the thread what it is asked to have
    // at most, which may be fewer than fit.
    bool isCountKnown = warp.grid->kernel->function->maxRegisters.has_value();
    if (isCountKnown || warp.hasSetRegisters)
      return warp.fail(Fault::Resources, inst, int(firstLane(mask)),
                       "setmaxnreg.inc to " + std::to_string(inst.a) +
                           " registers, the thread has " +
                           std::to_string(warp.registerBudget) + " already");
    change = 0;
  }
  if (change > block.freeRegisters) {
    // Others may still give some back.
    --warp.pc;
    warp.stop = Stop::Yield;
    return;
  }
  block.freeRegisters -= change;
  warp.registerBudget = inst.a;
  warp.hasSetRegisters = true;
  ++block.cluster->events;
}

Handler selectSetMaxRegisters(Form &form, Inst &inst) {
  std::optional<int64_t> count = form.decoder.constant(form.ast.operands[0]);
  if (!count || *count < 24 || *count > 256 || *count % 8) {
    form.decoder.fail(form.ast.operands[0].location,
                      "setmaxnreg takes a multiple of 8 from 24 to 256");
    return nullptr;
  }
  inst.a = uint32_t(*count);
  inst.b = form.has("inc");
  return setMaxRegisters;
}

/// Sources: target, values, barrier. b: elements; a: the reduction.
void storeAsync(Warp &warp, const Inst &inst, uint32_t mask) {
  const uint32_t bytes = typeSize(inst.type);
  const Reduce op = Reduce(inst.a);
  for (uint32_t rest = mask; rest != 0; rest &= rest - 1) {
    unsigned lane = firstLane(rest);
    MBarrierRef barrier =
        findMBarrier(warp, inst, lane, Space::Shared,
                     addressOf(warp, inst.source(1 + inst.b), lane),
                     /*isOfCopy=*/true);
    if (!barrier.barrier)
      return;
    Access access;
    access.isWrite = true;
    access.isStrong = op != Reduce::None;
    access.actor.agent = Agent::MBarrier;
    access.actor.barrier = barrier.barrier->clock;
    access.actor.clock = barrier.barrier->phase + 1;
    uint64_t address = addressOf(warp, inst.source(0), lane);
    uint8_t *memory = accessMemory(warp, inst, lane, Space::Shared, address,
                                   bytes * inst.b, access, bytes * inst.b);
    if (!memory)
      return;
    for (uint32_t i = 0; i < inst.b; ++i) {
      uint64_t value = readLane(warp, inst.source(1 + i), lane);
      if (op != Reduce::None) {
        uint64_t old = 0;
        std::memcpy(&old, memory + i * bytes, bytes);
        value = reduceWord(op, inst.type, old, value);
      }
      std::memcpy(memory + i * bytes, &value, bytes);
    }
    completeBytes(warp, inst, lane, barrier, int64_t(bytes) * inst.b);
    if (warp.stop == Stop::Error)
      return;
  }
  ++warp.block->cluster->events;
}

Handler selectStoreAsync(Form &form, Inst &inst) {
  const std::vector<Operand> &operands = form.ast.operands;
  static constexpr uint32_t widths[] = {1, 2, 4};
  inst.b = widths[form.which({"v2", "v4"}) + 1];
  inst.a = form.ast.opcode == "red" ? uint32_t(reductionOf(form)) : 0;
  inst.type = form.type();
  inst.undefined = Undefined::Reject;
  form.decoder.features().mbarriers = true;
  form.decoder.addAddress(operands[0]);
  std::vector<Operand> elements = {operands[1]};
  if (inst.b > 1)
    elements = operands[1].elements;
  if (elements.size() != inst.b)
    form.decoder.fail(operands[1].location,
                      "expected a vector of " + std::to_string(inst.b));
  for (const Operand &element : elements)
    form.decoder.addSource(element, inst.type);
  form.decoder.addAddress(operands[2]);
  form.decoder.noteAccess(Space::Shared, typeSize(inst.type) * inst.b);
  return storeAsync;
}

const Definition table[] = {
    {"setmaxnreg", "inc|dec sync aligned u32", "...1", selectSetMaxRegisters},
    {"st",
     "async weak? shared::cluster mbarrier::complete_tx::bytes v2|v4? "
     "b32|b64|u32|u64|s32|s64|f32|f64",
     "...3", selectStoreAsync},
    {"red",
     "async relaxed? cluster? shared::cluster mbarrier::complete_tx::bytes add "
     "u32|s32|u64",
     "...3", selectStoreAsync},
    {"red",
     "async relaxed? cluster? shared::cluster mbarrier::complete_tx::bytes "
     "min|max u32|s32",
     "...3", selectStoreAsync},
    {"red",
     "async relaxed? cluster? shared::cluster mbarrier::complete_tx::bytes "
     "inc|dec u32",
     "...3", selectStoreAsync},
    {"red",
     "async relaxed? cluster? shared::cluster mbarrier::complete_tx::bytes "
     "and|or|xor b32",
     "...3", selectStoreAsync},
};

} // namespace

DefinitionList deplo::emulator::clusterDefinitions() { return listOf(table); }
