// SPDX-License-Identifier: Apache-2.0
// Several outputs that belong together, replaced together. Every program writes its files here.
//
// A regular file is replaced by renaming, so that nobody ever sees half of one; where its name is a
// link, the file behind it is and the link stays. A device, a named pipe or an open file of this
// process (/dev/stdout) is written in place.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "spirkiln/result.hpp"

namespace spirkiln::tool {

struct Output {
  std::filesystem::path path;
  std::string bytes;
};

// Whether outputs may be written there, as far as can be known without writing: a folder that
// exists or can be made, and no folder in the place of a file. `missing_folder_is_made` says that
// the caller will make the folder.
Status check_output(const std::filesystem::path& path, bool missing_folder_is_made);

// From now on refuse_inputs() knows the file as an input: one that is read before a command knows
// what its outputs are. Not from several threads at once.
void protect_input(const std::filesystem::path& path);

// An error (kInvalidArgument) where an output is one of the inputs, by whatever name or link. What
// does not exist yet, and what is no regular file, is none.
Status refuse_inputs(const std::vector<std::filesystem::path>& outputs,
                     const std::vector<std::filesystem::path>& inputs);

// Both for the one output of a program that runs kernels, before it runs any. What $SPIRKILN_TABLE
// names is read as well.
Status may_write(const std::filesystem::path& output, std::vector<std::filesystem::path> inputs);

// All of them or, after an error, none. Every byte is on its way to the disk, under temporary
// names, before the first old file goes; files that already hold their bytes are not touched. Only
// the end of the process between two renames can leave some old and some new, in the order given.
// What is written in place is written before the first rename, and cannot be taken back.
Status write_outputs(const std::vector<Output>& outputs);

// One output.
Status write_file(const std::filesystem::path& path, std::string_view bytes);

// What a process that was killed in write_outputs() left beside these files. Nobody else may be
// writing them.
void remove_leftovers(const std::vector<Output>& outputs);

// One at a time in one folder, across processes, while it lives. Without effect where the file
// system has no locks.
class FolderLock {
 public:
  explicit FolderLock(const std::filesystem::path& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int fd_ = -1;
};

}  // namespace spirkiln::tool
