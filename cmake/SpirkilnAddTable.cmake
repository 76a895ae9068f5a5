# SPDX-License-Identifier: Apache-2.0
# spirkiln_add_table(TARGET NAME name MANIFESTS manifest...
#                    [GLSL folder] [INCLUDE folder...] [ANSWERS file...] [QUIRKS file]
#                    [EMBED incbin|array])
#
# Compiles each manifest into an object, links the objects into the table `name` and makes it part of
# TARGET, which then may `#include "name_table.hpp"`, and where TARGET is a library, what links it may
# as well. Manifests are compiled side by side; an edit compiles what reads the edited file. TARGET is
# one of the same folder.
#   GLSL     a folder with dialect/, in place of the generator's own
#   INCLUDE  further folders for #include
#   ANSWERS  files of known answers, [[answer]], of kernels of any of the manifests
#   QUIRKS   a file that says what must not run on which devices
#   EMBED    how the bytes get into TARGET: by the assembler (incbin), which needs the language ASM,
#            or as an array in C++. Without it: incbin where ASM is enabled.
function(spirkiln_add_table target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "NAME;GLSL;QUIRKS;EMBED" "MANIFESTS;INCLUDE;ANSWERS")
  if(arg_UNPARSED_ARGUMENTS OR arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "spirkiln_add_table(${target}): unexpected "
      "'${arg_UNPARSED_ARGUMENTS}', or nothing behind '${arg_KEYWORDS_MISSING_VALUES}'")
  endif()
  if(NOT arg_NAME MATCHES "^[a-z][a-z0-9_]*$" OR NOT arg_MANIFESTS)
    message(FATAL_ERROR "spirkiln_add_table(${target}): expected NAME, a lower-case letter and then "
      "a-z, 0-9 and _, and MANIFESTS")
  endif()
  if(NOT TARGET Spirkiln::generator)
    message(FATAL_ERROR "spirkiln_add_table(${target}): there is no generator for the machine that "
      "builds; install spirkiln there, or name one in SPIRKILN_EXECUTABLE")
  endif()
  get_target_property(folder_of_target ${target} SOURCE_DIR)
  if(NOT folder_of_target STREQUAL CMAKE_CURRENT_SOURCE_DIR)
    message(FATAL_ERROR "spirkiln_add_table(${target}): call it in ${folder_of_target}, where the "
      "target was added; custom commands reach no other folder's targets")
  endif()
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT arg_EMBED)
    if("ASM" IN_LIST languages)
      set(arg_EMBED incbin)
    else()
      set(arg_EMBED array)
    endif()
  elseif(arg_EMBED STREQUAL "incbin" AND NOT "ASM" IN_LIST languages)
    message(FATAL_ERROR "spirkiln_add_table(${target}): EMBED incbin needs the language ASM: "
      "project(... LANGUAGES CXX ASM)")
  elseif(NOT arg_EMBED MATCHES "^(incbin|array)$")
    message(FATAL_ERROR "spirkiln_add_table(${target}): EMBED ${arg_EMBED}: expected incbin or array")
  endif()

  set(folder "${CMAKE_CURRENT_BINARY_DIR}/spirkiln/${arg_NAME}")
  get_property(tables DIRECTORY PROPERTY spirkiln_tables)
  if(arg_NAME IN_LIST tables)
    message(FATAL_ERROR "spirkiln_add_table(${target}): this folder has a table '${arg_NAME}' already; "
      "put it into a library that both targets link")
  endif()
  set_property(DIRECTORY APPEND PROPERTY spirkiln_tables ${arg_NAME})
  file(MAKE_DIRECTORY "${folder}")

  set(options)
  if(arg_GLSL)
    get_filename_component(path "${arg_GLSL}" ABSOLUTE)
    list(APPEND options --glsl "${path}")
  endif()
  foreach(include IN LISTS arg_INCLUDE)
    get_filename_component(path "${include}" ABSOLUTE)
    list(APPEND options -I "${path}")
  endforeach()
  foreach(answers IN LISTS arg_ANSWERS)
    get_filename_component(path "${answers}" ABSOLUTE)
    list(APPEND options --answers "${path}")
  endforeach()
  if(arg_ANSWERS)
    foreach(manifest IN LISTS arg_MANIFESTS)
      get_filename_component(path "${manifest}" ABSOLUTE)
      list(APPEND options --beside "${path}")
    endforeach()
  endif()
  set(quirks)
  set(quirks_file)
  if(arg_QUIRKS)
    get_filename_component(quirks_file "${arg_QUIRKS}" ABSOLUTE)
    set(quirks --quirks "${quirks_file}")
  endif()

  # The generator leaves files alone that would not change. Ninja then stops there; Make compares times
  # and would run the command again for ever.
  set(touches FALSE)
  if(CMAKE_GENERATOR MATCHES "Makefiles")
    set(touches TRUE)
  endif()

  # CMake writes depfiles anew for Ninja and loses these characters on the way, and $ in the depfile's own
  # name (3.25 does). Ninja itself understands them, with names as it has them: from the build folder.
  cmake_policy(PUSH)
  set(from "${CMAKE_CURRENT_BINARY_DIR}")
  set(relative FALSE)
  set(paths "${CMAKE_CURRENT_SOURCE_DIR} ${folder} ${arg_MANIFESTS} ${arg_GLSL} ${arg_INCLUDE}
    ${arg_ANSWERS}")
  if(CMAKE_GENERATOR MATCHES "Ninja" AND NOT CMAKE_HOST_WIN32 AND paths MATCHES "[$#:]")
    cmake_policy(SET CMP0116 OLD)
    set(from "${CMAKE_BINARY_DIR}")
    set(relative TRUE)
  endif()

  set(generator $<TARGET_FILE:Spirkiln::generator>)
  set(objects)
  foreach(manifest IN LISTS arg_MANIFESTS)
    get_filename_component(manifest "${manifest}" ABSOLUTE)
    get_filename_component(stem "${manifest}" NAME_WLE)
    set(object "${folder}/${stem}.spko")
    if(object IN_LIST objects)
      list(LENGTH objects count)
      set(object "${folder}/${stem}.${count}.spko")
    endif()
    list(APPEND objects "${object}")
    set(touch)
    if(touches)
      set(touch COMMAND "${CMAKE_COMMAND}" -E touch "${object}")
    endif()
    set(name "${object}")
    if(relative)
      file(RELATIVE_PATH name "${from}" "${object}")
    endif()
    add_custom_command(OUTPUT "${object}"
      COMMAND ${generator} compile "${manifest}" -o "${name}" --depfile "${name}.d" ${options}
      ${touch}
      DEPENDS "${manifest}" ${generator}
      DEPFILE "${name}.d"
      WORKING_DIRECTORY "${from}"
      COMMENT "Compiling the kernels of ${stem}"
      VERBATIM)
  endforeach()
  cmake_policy(POP)

  set(table "${folder}/${arg_NAME}_table")
  if(arg_EMBED STREQUAL "incbin")
    set(embedded "${table}.S")
    set_source_files_properties("${embedded}" PROPERTIES OBJECT_DEPENDS "${table}.bin")
  else()
    set(embedded "${table}.cpp")
  endif()
  set(outputs "${embedded}" "${table}.hpp" "${table}.bin")
  set(touch)
  if(touches)
    set(touch COMMAND "${CMAKE_COMMAND}" -E touch ${outputs})
  endif()
  add_custom_command(OUTPUT ${outputs}
    COMMAND ${generator} link ${objects} --name ${arg_NAME} --out-dir "${folder}" --embed ${arg_EMBED}
      ${quirks}
    ${touch}
    DEPENDS ${objects} ${generator} ${quirks_file}
    COMMENT "Linking the kernels of ${arg_NAME}"
    VERBATIM)
  # CMake has no rule for a shared library of assembly alone, and links nothing without a word.
  get_target_property(sources ${target} SOURCES)
  get_target_property(linker ${target} LINKER_LANGUAGE)
  if(NOT sources AND NOT linker)
    foreach(language IN ITEMS CXX C)
      if(language IN_LIST languages)
        set_target_properties(${target} PROPERTIES LINKER_LANGUAGE ${language})
        break()
      endif()
    endforeach()
  endif()
  target_sources(${target} PRIVATE "${embedded}" "${table}.hpp")
  target_include_directories(${target} PRIVATE "${folder}")
  # Not in what the library exports: an installed tree has no build folder.
  get_target_property(type ${target} TYPE)
  if(type MATCHES "LIBRARY$")
    target_include_directories(${target} INTERFACE "$<BUILD_INTERFACE:${folder}>")
  endif()
endfunction()
