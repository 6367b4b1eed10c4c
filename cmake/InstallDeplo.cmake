# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

# What `cmake --install` puts beside the libraries and tools: headers, the
# TableGen files that another project's dialects may include, and the CMake
# package Deplo.

include(CMakePackageConfigHelpers)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/ ${PROJECT_BINARY_DIR}/include/
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
  FILES_MATCHING PATTERN "*.h" PATTERN "*.td" PATTERN "*.inc"
  PATTERN CMakeFiles EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR})

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/deplo)
install(EXPORT DeploTargets NAMESPACE Deplo:: DESTINATION ${package})
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/DeploConfig.cmake.in
  ${PROJECT_BINARY_DIR}/cmake/DeploConfig.cmake
  INSTALL_DESTINATION ${package}
  PATH_VARS CMAKE_INSTALL_INCLUDEDIR CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_BINDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cmake/DeploConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES
    ${PROJECT_BINARY_DIR}/cmake/DeploConfig.cmake
    ${PROJECT_BINARY_DIR}/cmake/DeploConfigVersion.cmake
  DESTINATION ${package})
