# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# add_deplo_standalone(NAME OUTPUT name OBJECTS objlib... EXPORTS file)
#
# Target NAME links the object libraries OBJECTS as a shared library with
# everything inside: deplo's archives, and of MLIR and LLVM what is used, for
# the host's processor and NVPTX. The result needs the C library alone and
# exports what EXPORTS, a version script, names: it can live in a process
# beside other copies of LLVM. It is standalone/lib<OUTPUT>.so.
#
# Raw archives, because MLIR's CMake targets pull in the shared LLVM.
function(add_deplo_standalone name)
  cmake_parse_arguments(A "" "OUTPUT;EXPORTS" "OBJECTS" ${ARGN})
  file(GLOB mlir ${LLVM_LIBRARY_DIR}/libMLIR*.a)
  list(FILTER mlir EXCLUDE REGEX "/libMLIR(CAPI|Test|[A-Za-z]*JitRunner|[A-Za-z]*Test)")
  file(GLOB llvm ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  set(others ${LLVM_ALL_TARGETS})
  list(REMOVE_ITEM others NVPTX ${LLVM_NATIVE_ARCH})
  list(JOIN others "|" others)
  list(FILTER llvm EXCLUDE REGEX "/libLLVM(${others})")
  find_library(DEPLO_ZSTD_ARCHIVE libzstd.a)
  find_library(DEPLO_ZLIB_ARCHIVE libz.a)
  mark_as_advanced(DEPLO_ZSTD_ARCHIVE DEPLO_ZLIB_ARCHIVE)
  if(NOT mlir OR NOT llvm OR NOT DEPLO_ZSTD_ARCHIVE OR NOT DEPLO_ZLIB_ARCHIVE)
    message(STATUS "No target ${name}: the static libraries of MLIR, LLVM, zstd and zlib are not all there")
    return()
  endif()

  get_property(libraries GLOBAL PROPERTY DEPLO_LIBRARIES)
  set(archives)
  foreach(library ${libraries})
    list(APPEND archives $<TARGET_FILE:${library}>)
  endforeach()
  list(TRANSFORM A_OBJECTS REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  add_library(${name} SHARED EXCLUDE_FROM_ALL ${objects})
  add_dependencies(${name} ${libraries})
  set_target_properties(${name} PROPERTIES
    LINKER_LANGUAGE CXX
    OUTPUT_NAME ${A_OUTPUT}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/standalone
    LINK_DEPENDS "${A_EXPORTS};${archives}")
  # Identical functions are folded: nothing here compares the addresses of
  # functions that do the same. Packed relocations need glibc 2.36.
  target_link_options(${name} PRIVATE
    -fuse-ld=lld -static-libstdc++ -static-libgcc
    LINKER:--version-script,${A_EXPORTS} LINKER:--gc-sections LINKER:-s LINKER:--no-undefined
    LINKER:-O2 LINKER:--icf=all LINKER:-z,pack-relative-relocs)
  target_link_libraries(${name} PRIVATE
    -Wl,--start-group ${archives} ${mlir} ${llvm} ${DEPLO_ZSTD_ARCHIVE} ${DEPLO_ZLIB_ARCHIVE} -Wl,--end-group
    Threads::Threads ${CMAKE_DL_LIBS} m)
endfunction()
