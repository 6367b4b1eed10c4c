// RUN: deplo-opt %s --split-input-file | FileCheck %s

// A launch may name what its kernel became: a function for the device, of any
// signature.
// CHECK: loop.launch @k(%{{.*}}) : memref<8xf32>
func.func @device_function(%x: memref<8xf32>) {
  loop.launch @k(%x) : memref<8xf32>
  return
}
gpu.module @kernels {
  llvm.func @k(%x: !llvm.ptr<1>) {
    llvm.return
  }
}

// -----

// A function for the host.
// CHECK: loop.launch @k(%{{.*}}, %{{.*}}) : memref<8xf32>, memref<8xf32>
func.func @host_function(%x: memref<8xf32>, %y: memref<8xf32>) {
  loop.launch @k(%x, %y) : memref<8xf32>, memref<8xf32>
  return
}
module @kernels {
  llvm.func @k(%args: !llvm.ptr) {
    llvm.return
  }
}

// -----

// Or what is in a binary.
// CHECK: loop.launch @k(%{{.*}}) : memref<8xf32>
func.func @binary(%x: memref<8xf32>) {
  loop.launch @k(%x) : memref<8xf32>
  return
}
gpu.binary @kernels [#gpu.object<#nvvm.target, assembly = "// PTX">]
