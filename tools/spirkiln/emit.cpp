// SPDX-License-Identifier: Apache-2.0
#include "emit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string_view>

#include "files.hpp"

namespace spirkiln::gen {
namespace {

// What cannot name an enumerator or a namespace, sorted: C++'s words with those of newer editions
// and their alternatives (bitand), and the lower-case macros that compilers predefine outside
// strict modes (linux) or that C's headers bring along (errno).
constexpr std::string_view kTaken[] = {"alignas",
                                       "alignof",
                                       "and",
                                       "and_eq",
                                       "asm",
                                       "auto",
                                       "bitand",
                                       "bitor",
                                       "bool",
                                       "break",
                                       "case",
                                       "catch",
                                       "char",
                                       "char16_t",
                                       "char32_t",
                                       "char8_t",
                                       "class",
                                       "co_await",
                                       "co_return",
                                       "co_yield",
                                       "compl",
                                       "concept",
                                       "const",
                                       "const_cast",
                                       "consteval",
                                       "constexpr",
                                       "constinit",
                                       "continue",
                                       "contract_assert",
                                       "decltype",
                                       "default",
                                       "delete",
                                       "do",
                                       "double",
                                       "dynamic_cast",
                                       "else",
                                       "enum",
                                       "errno",
                                       "explicit",
                                       "export",
                                       "extern",
                                       "false",
                                       "float",
                                       "for",
                                       "friend",
                                       "goto",
                                       "hpux",
                                       "i386",
                                       "if",
                                       "inline",
                                       "int",
                                       "linux",
                                       "long",
                                       "mips",
                                       "mutable",
                                       "namespace",
                                       "new",
                                       "noexcept",
                                       "not",
                                       "not_eq",
                                       "nullptr",
                                       "operator",
                                       "or",
                                       "or_eq",
                                       "private",
                                       "protected",
                                       "public",
                                       "register",
                                       "reinterpret_cast",
                                       "requires",
                                       "return",
                                       "sgi",
                                       "short",
                                       "signed",
                                       "sizeof",
                                       "sparc",
                                       "static",
                                       "static_assert",
                                       "static_cast",
                                       "stderr",
                                       "stdin",
                                       "stdout",
                                       "struct",
                                       "sun",
                                       "switch",
                                       "template",
                                       "this",
                                       "thread_local",
                                       "throw",
                                       "true",
                                       "try",
                                       "typedef",
                                       "typeid",
                                       "typename",
                                       "typeof",
                                       "union",
                                       "unix",
                                       "unsigned",
                                       "using",
                                       "vax",
                                       "virtual",
                                       "void",
                                       "volatile",
                                       "wchar_t",
                                       "while",
                                       "xor",
                                       "xor_eq"};
static_assert(std::is_sorted(std::begin(kTaken), std::end(kTaken)));

// A taken word with any number of '_' behind gets one more: no two names become equal, whatever
// else a table holds.
// Object-like macros in capitals of C's and C++'s headers: limits by how they begin and end
// (INT_MAX, UINT8_MAX, FLT_EPSILON), the others by name. A specialization constant may be called
// so.
bool is_standard_macro(std::string_view name) {
  static constexpr std::string_view kTypes[] = {
      "CHAR",  "DBL",  "FILENAME", "FLT",     "FOPEN",  "INT",   "LDBL",  "LLONG",      "LONG",
      "MB",    "NAME", "PATH",     "PTRDIFF", "RAND",   "SCHAR", "SHRT",  "SIG_ATOMIC", "SIZE",
      "SSIZE", "TMP",  "UCHAR",    "UINT",    "ULLONG", "ULONG", "USHRT", "WCHAR",      "WINT"};
  static constexpr std::string_view kEnds[] = {"_DIG", "_EPSILON", "_MAX", "_MIN", "_WIDTH"};
  static constexpr std::string_view kNames[] = {
      "BUFSIZ",       "CHAR_BIT", "CLOCKS_PER_SEC", "DECIMAL_DIG", "EOF",       "EXIT_FAILURE",
      "EXIT_SUCCESS", "FALSE",    "HUGE_VAL",       "HUGE_VALF",   "HUGE_VALL", "I",
      "INFINITY",     "NAN",      "NDEBUG",         "NULL",        "SEEK_CUR",  "SEEK_END",
      "SEEK_SET",     "SIGABRT",  "SIGFPE",         "SIGILL",      "SIGINT",    "SIGSEGV",
      "SIGTERM",      "SIG_DFL",  "SIG_ERR",        "SIG_IGN",     "TRUE",      "WEOF"};
  const auto begins = [&](std::string_view begin) { return name.starts_with(begin); };
  const auto ends = [&](std::string_view end) { return name.ends_with(end); };
  return (std::any_of(std::begin(kTypes), std::end(kTypes), begins) &&
          std::any_of(std::begin(kEnds), std::end(kEnds), ends)) ||
         std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

std::string identifier(std::string_view name) {
  const std::string_view word = name.substr(0, name.find_last_not_of('_') + 1);
  const bool taken =
      std::binary_search(std::begin(kTaken), std::end(kTaken), word) || is_standard_macro(word);
  return fmt::format("{}{}", name, taken ? "_" : "");
}

std::string array_of_names(std::string_view what, const std::vector<std::string>& names) {
  std::string out = fmt::format("inline constexpr ::std::array<::std::string_view, {}> {} = {{\n",
                                names.size(), what);
  for (const std::string& name : names) out += fmt::format("    \"{}\",\n", name);
  return out + "};\n";
}

std::string enum_of_names(std::string_view what, const std::vector<std::string>& names) {
  std::string out = fmt::format("enum class {} : ::std::uint32_t {{\n", what);
  for (const std::string& name : names) out += fmt::format("  {},\n", identifier(name));
  return out + "};\n";
}

// Of the kernels that have any.
std::string constants_of(const std::vector<PackKernel>& kernels) {
  std::string out;
  for (const PackKernel& kernel : kernels) {
    if (kernel.constants.empty()) continue;
    out += fmt::format("namespace {} {{\n", identifier(kernel.name));
    for (const auto& [name, id] : kernel.constants) {
      out += fmt::format("inline constexpr ::std::uint32_t {} = {};\n", identifier(name), id);
    }
    out += "}\n";
  }
  if (out.empty()) return out;
  return fmt::format(
      "\n// Ids of the specialization constants that the manifests name, by kernel.\nnamespace "
      "constants {{\n{}}}  // namespace constants\n",
      out);
}

}  // namespace

std::string emit_assembly(const std::string& name, const std::string& table) {
  return fmt::format(R"(/* SPDX-License-Identifier: Apache-2.0
   Generated by spirkiln; do not edit. Table of {1} bytes, XXH3 {2:016x}.
   Assemble with the folder of {0}_table.bin among the include folders. */
#if defined(__APPLE__)
#define SYMBOL(name) _##name
        .section __TEXT,__const
#elif defined(_WIN32)
#define SYMBOL(name) name
        .section .rdata,"dr"
#else
#define SYMBOL(name) name
        .section .rodata
#endif
        .globl  SYMBOL(spirkiln_{0}_table)
        .globl  SYMBOL(spirkiln_{0}_table_size)
#if defined(__ELF__)
        .type   SYMBOL(spirkiln_{0}_table), %object
        .size   SYMBOL(spirkiln_{0}_table), {1}
        .type   SYMBOL(spirkiln_{0}_table_size), %object
        .size   SYMBOL(spirkiln_{0}_table_size), 8
#endif
        .p2align 4
SYMBOL(spirkiln_{0}_table):
        .incbin "{0}_table.bin"
        .p2align 4
SYMBOL(spirkiln_{0}_table_size):
        .quad   {1}
#if defined(__ELF__)
        .section .note.GNU-stack,"",%progbits
#endif
)",
                     name, table.size(), hash_bytes(table));
}

std::string emit_array(const std::string& name, const std::string& table) {
  std::string out = fmt::format(
      "// SPDX-License-Identifier: Apache-2.0\n// Generated by spirkiln; do not edit.\n"
      "#include \"{0}_table.hpp\"\n\nextern \"C\" {{\n"
      "alignas(16) const unsigned char spirkiln_{0}_table[] = {{",
      name);
  out.reserve(out.size() + table.size() * 4);
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (i % 24 == 0) out += '\n';
    fmt::format_to(std::back_inserter(out), "{},", static_cast<unsigned char>(table[i]));
  }
  out += fmt::format("\n}};\nconst std::uint64_t spirkiln_{}_table_size = {};\n}}\n", name,
                     table.size());
  return out;
}

std::string emit_header(const std::string& name, const std::vector<PackKernel>& kernels) {
  std::vector<std::string> kernel_names;
  std::vector<std::string> variant_names;
  for (const PackKernel& kernel : kernels) {
    kernel_names.push_back(kernel.name);
    for (const Variant& v : kernel.variants) variant_names.push_back(v.name);
  }
  std::sort(variant_names.begin(), variant_names.end());
  return fmt::format(
      R"(// SPDX-License-Identifier: Apache-2.0
// Generated by spirkiln; do not edit.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

extern "C" {{
extern const unsigned char spirkiln_{0}_table[];  // aligned to 16 bytes
extern const std::uint64_t spirkiln_{0}_table_size;
}}

namespace spirkiln::tables::{5} {{

inline ::std::span<const unsigned char> table() {{
  return {{spirkiln_{0}_table, static_cast<::std::size_t>(spirkiln_{0}_table_size)}};
}}

// The value is the kernel's index in the table and in kKernelNames, which are sorted.
{1}
{2}
// The value is the index in kVariantNames, which are sorted.
{3}
{4}{6}
}}  // namespace spirkiln::tables::{5}
)",
      name, enum_of_names("Kernel", kernel_names), array_of_names("kKernelNames", kernel_names),
      enum_of_names("Variant", variant_names), array_of_names("kVariantNames", variant_names),
      identifier(name), constants_of(kernels));
}

}  // namespace spirkiln::gen
