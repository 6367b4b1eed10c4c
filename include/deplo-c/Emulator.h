/* SPDX-FileCopyrightText: the deplo authors
 * SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The PTX emulator: as the runtime's device "emu", and by itself for the PTX of
 * any compiler. Texts live until the thread's next call of the same function;
 * after a failure deploLastError() (Runtime.h) has one sentence.
 */

#ifndef DEPLO_C_EMULATOR_H
#define DEPLO_C_EMULATOR_H

#include "deplo-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes device "emu" known to deploDeviceOpen(). May be called more than once.
 */
DEPLO_C_EXPORT void deploRegisterEmulatedDevice(void);

/* What the last launches of an executable on device "emu" did: a JSON array,
 * one entry for each kernel of the package, null for those that have not run.
 * An empty text on other devices. */
DEPLO_C_EXPORT const char *deploExecutableCounters(DeploExecutable *executable);

typedef struct DeploEmulation DeploEmulation;

/* Parses PTX text; nonzero on failure, and then the error has the line. */
DEPLO_C_EXPORT int deploEmulationLoad(const char *ptx, size_t size,
                                      DeploEmulation **emulation);
DEPLO_C_EXPORT void deploEmulationDestroy(DeploEmulation *emulation);

/* The kernels as a JSON array: "name", "parameters" with "name", "offset" and
 * "bytes", "shared_bytes", "local_bytes". */
DEPLO_C_EXPORT const char *deploEmulationKernels(DeploEmulation *emulation);

/* Memory that a kernel may touch. */
typedef struct {
  const char *name;
  void *memory;
  size_t bytes;
  int isWritable;
  int isInitialized;
} DeploEmulationRegion;

typedef struct {
  const char *kernel;
  /* Three numbers each; cluster may be all zero: as the kernel says. */
  uint32_t grid[3], block[3], cluster[3];
  uint32_t dynamicSharedBytes;
  const void *parameters;
  size_t parameterBytes;
  const DeploEmulationRegion *regions;
  size_t regionCount;
  /* Zero to leave the checks out. */
  int checksRaces, checksUninitialized;
  /* Warp instructions; 0 for no bound. */
  uint64_t instructionBudget;
  /* Host threads; 0 for one for each core. */
  unsigned workers;
} DeploEmulationLaunch;

/* A tensor map: fields and rules are those of cuTensorMapEncodeTiled, the 128
 * bytes are for the emulator's cp.async.bulk.tensor only. `strides` has rank -
 * 1 entries, in bytes. Nonzero on failure. */
typedef struct {
  int element; /* CUtensorMapDataType */
  unsigned rank;
  void *address;
  uint64_t extents[5], strides[4];
  uint32_t box[5], elementStrides[5];
  int swizzle; /* CUtensorMapSwizzle, from 0 to 3 */
  int fillsNan;
} DeploTensorMap;

DEPLO_C_EXPORT int deploEmulationTensorMap(const DeploTensorMap *map,
                                           void *bytes);

/* Runs a kernel. The result is a JSON object: "seconds", "findings" (texts,
 * empty if nothing is wrong) and "counters". NULL on a null pointer. */
DEPLO_C_EXPORT const char *
deploEmulationRun(DeploEmulation *emulation,
                  const DeploEmulationLaunch *launch);

#ifdef __cplusplus
}
#endif

#endif /* DEPLO_C_EMULATOR_H */
