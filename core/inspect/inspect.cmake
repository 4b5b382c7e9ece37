# SPDX-License-Identifier: BSD-2-Clause
# Inspections: one file each, no list to edit. A file's name is its namespace below memstat::inspections, where it defines
# `inspection`. A file without a unit test is rejected. status_lines_test.cpp tests those that read a line of
# /proc/PID/status, and freebsd_descriptors_test.cpp those that count descriptors on FreeBSD.
function(memstat_add_inspections target)
  file(GLOB files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/core/inspect/questions/*.cpp)
  set(tests ${CMAKE_SOURCE_DIR}/tests/unit/inspect)
  file(READ ${tests}/status_lines_test.cpp of_linux)
  file(READ ${tests}/freebsd_descriptors_test.cpp of_freebsd)
  set(names "")
  foreach(file IN LISTS files)
    cmake_path(GET file STEM name)
    string(REPLACE "_" "-" question ${name})
    set(shared "${of_linux}")
    if(question MATCHES "^freebsd-(.*)")
      set(question ${CMAKE_MATCH_1})
      set(shared "${of_freebsd}")
    endif()
    if(NOT EXISTS ${tests}/${name}_test.cpp AND NOT shared MATCHES "\"${question}\"")
      message(FATAL_ERROR "core/inspect/questions/${name}.cpp has no test: write tests/unit/inspect/${name}_test.cpp")
    endif()
    list(APPEND names ${name})
  endforeach()
  memstat_write_table(all_inspections FROM core/inspect/questions HEADER core/inspect/inspection.h SPACE inspections TYPE Inspection
                      MEMBER inspection FUNCTION all_inspections NAMES ${names})
  target_sources(${target} PRIVATE ${files} ${GENERATED}/all_inspections.cpp)
endfunction()
