// SPDX-License-Identifier: Apache-2.0
// What users wish of kernels, as options of every program that runs graphs, for bisecting.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <string>
#include <vector>

namespace spirkiln::tool {

// Each option is the runtime's environment variable for this run, and goes before it. So one place
// serves whatever a program opens, the processes that it starts included; and the runtime's
// messages, which name the variable, hold for both. Those that `app` has already are left alone.
inline void add_wish_options(CLI::App& app) {
  const auto is_new = [&app](const char* name) { return app.get_option_no_throw(name) == nullptr; };
  const auto list = [&](const char* name, const char* variable, const char* type,
                        const char* help) {
    if (!is_new(name)) return;
    const auto set = [variable](const std::vector<std::string>& parts) {
      std::string all;
      for (const std::string& part : parts) all += (all.empty() ? "" : ",") + part;
      ::setenv(variable, all.c_str(), 1);
    };
    app.add_option_function<std::vector<std::string>>(name, set, help)
        ->allow_extra_args(false)
        ->check(CLI::Validator(
            [](const std::string& text) {
              return text.empty() ? std::string("nothing is named") : std::string();
            },
            "", "named"))
        ->type_name(type)
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  };
  const auto flag = [&](const char* name, const char* variable, const char* help) {
    if (!is_new(name)) return;
    app.add_flag_callback(name, [variable] { ::setenv(variable, "1", 1); }, help);
  };
  list("--avoid", "SPIRKILN_AVOID", "NAMES",
       "kernels and variants, separated by commas, that must not run; what else can do\n"
       "their work does it");
  list("--kernels", "SPIRKILN_KERNELS", "KERNEL=FORM",
       "the form of single kernels, separated by commas");
  list("--axes", "SPIRKILN_AXES", "AXIS=VALUE",
       "this value of an axis, in every kernel that has it; separated by commas");
  flag("--no-proof", "SPIRKILN_NO_PROOF", "use kernels without trying their known answers");
  flag("--no-cache", "SPIRKILN_NO_CACHE", "read and write no cache file of the runtime's");
}

}  // namespace spirkiln::tool
