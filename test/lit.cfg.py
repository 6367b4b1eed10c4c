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
    ["deplo-opt", "deplo-reduce", "deplo-lsp-server"], [config.deplo_tools_dir])

# ptxas is part of the CUDA toolkit, which is optional.
toolkits = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"), "/usr/local/cuda"]
if shutil.which("ptxas") or any(root and os.path.exists(os.path.join(root, "bin", "ptxas")) for root in toolkits):
    config.available_features.add("ptxas")
for variable in ("CUDA_HOME", "CUDA_PATH"):
    if variable in os.environ:
        config.environment[variable] = os.environ[variable]
