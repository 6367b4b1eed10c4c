# SPDX-FileCopyrightText: the deplo authors
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

import os
import shutil

import lit.formats
from lit.llvm import llvm_config

config.name = "deplo"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.deplo_obj_root, "test")

llvm_config.use_default_substitutions()
llvm_config.with_environment("FILECHECK_OPTS", "--enable-var-scope --allow-unused-prefixes=false")
llvm_config.add_tool_substitutions(
    ["deplo-opt", "deplo-reduce", "deplo-lsp-server"], [config.deplo_tools_dir]
)

# The plugin is loaded into MLIR's own mlir-opt, which no sanitizer is linked into.
llvm_config.add_tool_substitutions(["mlir-opt"], [config.llvm_tools_dir])
plugin = os.path.join(config.deplo_lib_dir, "DeploPlugin.so")
config.substitutions.append(("%deplo_plugin", plugin))
if os.path.exists(plugin) and not config.deplo_sanitizer:
    config.available_features.add("plugin")

# ptxas is part of the CUDA toolkit, which is optional.
toolkits = [config.deplo_cuda_toolkit_root, "/usr/local/cuda"]
toolkits += [os.environ.get(variable) for variable in ("CUDA_HOME", "CUDA_PATH")]
found = [root for root in toolkits if root and os.path.exists(f"{root}/bin/ptxas")]
if found or shutil.which("ptxas"):
    config.available_features.add("ptxas")
for variable in ("CUDA_HOME", "CUDA_PATH"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
