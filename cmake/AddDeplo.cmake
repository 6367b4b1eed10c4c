# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# One precompiled header of the MLIR core for every translation unit that uses
# MLIR: compiling those headers takes longer than anything else.
file(WRITE ${PROJECT_BINARY_DIR}/pch.cpp "")
add_library(DeploPCH OBJECT ${PROJECT_BINARY_DIR}/pch.cpp)
target_precompile_headers(DeploPCH PRIVATE ${PROJECT_SOURCE_DIR}/cmake/DeploPCH.h)
target_compile_options(DeploPCH PRIVATE -fno-exceptions -frtti -Xclang -fno-pch-timestamp)

define_property(GLOBAL PROPERTY DEPLO_LIBRARIES)

# add_deplo_library(NAME SOURCES a.cpp... [DEPENDS tablegen...] [LINK_LIBS deplo...] [NO_MLIR])
#
# A static library of deplo. MLIR and LLVM come in as their shared libraries;
# NO_MLIR leaves them and the precompiled header out.
function(add_deplo_library name)
  cmake_parse_arguments(A "NO_MLIR" "" "SOURCES;DEPENDS;LINK_LIBS" ${ARGN})
  add_library(${name} STATIC ${A_SOURCES})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_include_directories(${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  if(NOT A_NO_MLIR)
    target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
    target_precompile_headers(${name} REUSE_FROM DeploPCH)
    target_link_libraries(${name} PUBLIC ${A_LINK_LIBS} MLIR LLVM)
    # Generated headers of every dialect: passes include each other's.
    add_dependencies(${name} deplo-headers)
  else()
    target_link_libraries(${name} PUBLIC ${A_LINK_LIBS})
  endif()
  if(A_DEPENDS)
    add_dependencies(${name} ${A_DEPENDS})
  endif()
  set_property(GLOBAL APPEND PROPERTY DEPLO_LIBRARIES ${name})
  install(TARGETS ${name} EXPORT DeploTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endfunction()

# add_deplo_tool(NAME SOURCES a.cpp... LINK_LIBS lib...)
function(add_deplo_tool name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  target_link_libraries(${name} PRIVATE ${A_LINK_LIBS})
  add_dependencies(${name} deplo-headers)
  install(TARGETS ${name} EXPORT DeploTargets RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endfunction()

# add_deplo_unittest(NAME SOURCES a.cpp... [LINK_LIBS lib...])
#
# A GoogleTest program bin/NAME, run by check-deplo-unit.
function(add_deplo_unittest name)
  cmake_parse_arguments(A "" "" "SOURCES;LINK_LIBS" ${ARGN})
  add_executable(${name} ${A_SOURCES})
  target_compile_options(${name} PRIVATE -fno-exceptions)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  target_link_libraries(${name} PRIVATE ${A_LINK_LIBS} GTest::gtest GTest::gtest_main)
  add_dependencies(${name} deplo-headers)
  add_dependencies(deplo-unittests ${name})
endfunction()

# Tablegen of one dialect folder; each generated target joins deplo-headers.
add_custom_target(deplo-headers)
function(add_deplo_tablegen_target name)
  add_public_tablegen_target(${name})
  add_dependencies(deplo-headers ${name})
endfunction()
