// SPDX-FileCopyrightText: the deplo authors
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#ifndef DEPLO_TARGET_PASSES_TD
#define DEPLO_TARGET_PASSES_TD

include "mlir/Pass/PassBase.td"

def LegalizeForNVVMPass : Pass<"deplo-legalize-for-nvvm", "::mlir::gpu::GPUModuleOp"> {
  let summary = "carries loop annotations over and checks that only LLVM and NVVM operations remain";
  let description = [{
    The last step before LLVM IR. Conversions of MLIR may leave an operation
    behind without failing; here that is an error that names it. Unroll
    annotations, which the conversion of `scf.for` leaves as discardable
    attributes of branches, move to where the translation reads them.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect"];
}

def KernelToPtxPass : Pass<"deplo-kernel-to-ptx", "::mlir::ModuleOp"> {
  let summary = "compiles each device module to PTX with LLVM";
  let description = [{
    Translates the `gpu.module` to LLVM IR,
    optimises at -O3 and emits PTX with the NVPTX backend. Before:

    ```mlir
    gpu.module @kernels [#nvvm.target<chip = "sm_90a">] { llvm.func @k(...) attributes {nvvm.kernel, ...} }
    ```

    After:

    ```mlir
    gpu.binary @kernels [#gpu.object<#nvvm.target<chip = "sm_90a">, kernels = <[#gpu.kernel_metadata<"k", ...>]>,
                                     assembly = ".version 8.0 ...">]
    ```
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
}

def PtxasPass : Pass<"deplo-ptxas", "::mlir::ModuleOp"> {
  let summary = "assembles PTX with ptxas and reports registers and spills";
  let description = [{
    Adds to each `gpu.binary` the machine code of its PTX and to each kernel's
    metadata its registers, spilled bytes and static shared memory, as `ptxas` reports them. A
    register spill is an error: no schedule of deplo asks for one; so is a
    message that wgmma instructions were serialised (C75xx), which else becomes
    `serialised_wgmma` of the kernel that it is about.

    The toolkit is looked for in `CUDA_HOME`, `CUDA_PATH`, `/usr/local/cuda`, the
    roots that `DEPLO_CUDA_TOOLKITS` lists, and on the path.
  }];
  let dependentDialects = ["::mlir::gpu::GPUDialect"];
  let options = [
    Option<"allowSpills", "allow-spills", "bool", "false", "report spills instead of failing">,
    Option<"allowSerialised", "allow-serialised", "bool", "false", "report serialised wgmma instead of failing">,
  ];
}

#endif // DEPLO_TARGET_PASSES_TD
