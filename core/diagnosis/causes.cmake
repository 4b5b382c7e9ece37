# SPDX-License-Identifier: BSD-2-Clause
# Causes: one file each, no list to edit. The file's name is its namespace below memstat::causes, in which its span is `causes`. A file
# without unit test, and a cause without situation, is refused. A situation has a capture, or names a recording, or says why it was
# never seen.
function(memstat_add_causes target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/diagnosis/causes/*.cpp)
  set(names "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    if(NOT EXISTS ${CMAKE_SOURCE_DIR}/tests/unit/diagnosis/causes/${name}_test.cpp)
      message(FATAL_ERROR "core/diagnosis/causes/${name}.cpp has no test: write tests/unit/diagnosis/causes/${name}_test.cpp")
    endif()
    set(situations ${CMAKE_SOURCE_DIR}/tests/situations/${name}.yaml)
    if(NOT EXISTS ${situations})
      message(FATAL_ERROR "core/diagnosis/causes/${name}.cpp has no situation: describe one in tests/situations/${name}.yaml")
    endif()
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file} ${situations})
    file(READ ${situations} text)
    string(REGEX REPLACE "[][;]" "," text "${text}")  # these divide lists
    string(REPLACE "\n- " ";" ones "\n${text}")
    file(STRINGS ${file} rows REGEX "\\.name = \"[a-z_0-9]+\"")
    foreach(row IN LISTS rows)
      string(REGEX REPLACE ".*\\.name = \"([a-z_0-9]+)\".*" "\\1" cause "${row}")
      set(mine ${ones})
      list(FILTER mine INCLUDE REGEX "cause: ${cause}\n")
      if(NOT mine)
        message(FATAL_ERROR "core/diagnosis/causes/${name}.cpp: no situation of tests/situations/${name}.yaml has \"cause: ${cause}\"")
      endif()
      if(NOT mine MATCHES "\n *(capture|recorded|never_seen): ")
        message(FATAL_ERROR "tests/situations/${name}.yaml: no situation of ${cause} has a capture, or \"recorded:\" with the name of one in "
                            "provoked or public. If nobody has seen it, write \"never_seen:\" and why")
      endif()
    endforeach()
    list(APPEND names ${name})
  endforeach()
  memstat_write_table(all_causes FROM core/diagnosis/causes HEADER core/diagnosis/cause.h SPACE causes TYPE "std::span<const Cause>"
                      MEMBER causes FUNCTION cause_families NAMES ${names})
  target_sources(${target} PRIVATE ${files} ${GENERATED}/all_causes.cpp)
endfunction()
