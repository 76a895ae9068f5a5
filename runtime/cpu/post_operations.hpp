// SPDX-License-Identifier: Apache-2.0
// A node's epilogue as oneDNN's post-operations.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include "spirkiln/model_format.hpp"

namespace spirkiln::cpu {

// False where oneDNN has no such activation: then `ops` is of no use, and our own loop
// (activation.hpp) does it afterwards.
bool append_activation(dnnl::post_ops& ops, const model::Epilogue& e);

}  // namespace spirkiln::cpu
