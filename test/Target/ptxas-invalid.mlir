// REQUIRES: ptxas

// RUN: deplo-opt %s --deplo-ptxas --split-input-file --verify-diagnostics

// PTX that ptxas refuses.
// expected-error @below {{ptxas failed for sm_90a}}
gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90a">, assembly = ".version 8.0\0A.target sm_90a\0Anonsense">]

// -----

// Machine code already.
// expected-error @below {{binary's first object is not PTX; run deplo-kernel-to-ptx first}}
gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90a">, bin = "ELF">]
