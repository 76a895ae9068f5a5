// SPDX-License-Identifier: Apache-2.0
// Axes that change nothing because nobody reads their macro: most often a misspelled name.
#pragma once

#include <memory>
#include <vector>

#include "diagnostics.hpp"
#include "manifest.hpp"

namespace spirkiln::gen {

// Warnings at the axes' places, for axes of two or more values whose macro stands neither in
// `files`, the kernel and what its variants include, nor in the text of one of its other macros.
std::vector<Diagnostic> unread_axes(const KernelManifest& kernel,
                                    const std::vector<std::shared_ptr<const SourceFile>>& files);

}  // namespace spirkiln::gen
