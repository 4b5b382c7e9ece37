# SPDX-License-Identifier: BSD-2-Clause
# Test programs, scripts, and what they share. tests/README.md says which kind to add.
enable_testing()
# A test that takes longer hangs. The longest takes two minutes on an idle machine, and a busy one must not end it.
set(TEST_SECONDS 1200)
find_package(GTest REQUIRED)
# The start of a program takes longer than most tests, and so does unpacking a capture, so the tests of a program share processes.
set(TEST_SHARDS 8)
file(GLOB SUPPORT_FILES CONFIGURE_DEPENDS tests/support/*.cpp)
list(FILTER SUPPORT_FILES EXCLUDE REGEX "/(make_dump|http_client)\\.cpp$")
if(NOT dump_library_count EQUAL 3)  # also packs the pages that the tests make
  list(FILTER SUPPORT_FILES EXCLUDE REGEX "/compressed_dump\\.cpp$")
endif()
add_library(test_support STATIC ${SUPPORT_FILES})
target_link_libraries(test_support PUBLIC memstat_core memstat_archive GTest::gtest GTest::gmock)
target_link_libraries(test_support PRIVATE ${DUMP_LIBRARIES})
target_compile_definitions(test_support PRIVATE MEMSTAT_SOURCE_DIR="${CMAKE_SOURCE_DIR}"
                           PUBLIC MEMSTAT_SANITIZER="${MEMSTAT_SANITIZER}")

if(MEMSTAT_POSTMORTEM)
  add_executable(make_dump tests/support/make_dump.cpp)  # writes crash dumps of made-up kernels
  target_link_libraries(make_dump PRIVATE test_support)
endif()

# memstat_compile_test(PROGRAM): tested code is optimized; tests are not, because they then compile in half the time.
function(memstat_compile_test name)
  if(name STREQUAL "test_steady_state")  # counts allocations, some of which only an optimizer removes, and replaces malloc in one file
    target_compile_options(${name} PRIVATE -O1)
    set_target_properties(${name} PROPERTIES UNITY_BUILD OFF)
    return()
  endif()
  target_compile_options(${name} PRIVATE -O0)
  if(MEMSTAT_SANITIZER STREQUAL "address")  # null is found without it; the others are checked in the tested code
    target_compile_options(${name} PRIVATE -fno-sanitize=null,vptr,alignment)
  elseif(NOT MEMSTAT_SANITIZER)  # fortified functions need an optimizer
    target_compile_options(${name} PRIVATE -U_FORTIFY_SOURCE)
  endif()
  if(NOT MEMSTAT_UNITY OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  get_property(owner GLOBAL PROPERTY MEMSTAT_TEST_HEADERS)
  if(owner)
    target_precompile_headers(${name} REUSE_FROM ${owner})
  else()
    target_precompile_headers(${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests/support/test.h ${STANDARD_HEADERS})
    set_property(GLOBAL PROPERTY MEMSTAT_TEST_HEADERS ${name})
  endif()
endfunction()

# memstat_test_shard(PROGRAM DIRECTORY NUMBER INDEX FILTER): a process that runs its share of the tests that FILTER selects.
function(memstat_test_shard name directory number index filter)
  string(REPLACE "/" "_" file "${directory}_shard_${number}.xml")
  add_test(NAME ${directory}/shard_${number}
           COMMAND ${name} --gtest_brief=1 --gtest_filter=${filter} --gtest_output=xml:${CMAKE_BINARY_DIR}/test-results/${file})
  set_tests_properties(${directory}/shard_${number} PROPERTIES TIMEOUT ${TEST_SECONDS}
                       ENVIRONMENT "GTEST_TOTAL_SHARDS=${TEST_SHARDS};GTEST_SHARD_INDEX=${index}")
endfunction()
# Tests of three minutes that only sanitizers judge, and that run in no other tree: every source with thousands of damaged
# captures, and with each of its reads failing.
set(SANITIZED_TESTS_OF_test_contract *DamagedInput* *FailingReads*)

# memstat_test_program(NAME DIRECTORY LIBRARIES...): one program of the tests in a directory and below it. Tests with Live in their name
# read this machine's kernel: they have the label `live` and run alone, since other tests change what they measure.
# The clang tree leaves them out: compiling them takes as long as all that ships, and they never run there.
function(memstat_test_program name directory)
  if(MEMSTAT_FUZZ)
    return()
  endif()
  file(GLOB_RECURSE files CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${directory}/*_test.cpp)
  if(NOT dump_library_count EQUAL 3)
    list(FILTER files EXCLUDE REGEX "/(kdump_file|packed_file|ctf)_test\\.cpp$")
  endif()
  if(files)
    add_executable(${name} ${files})
    target_link_libraries(${name} PRIVATE test_support ${ARGN} GTest::gtest_main)
    # The results of tests are in files, which tests/support/summary.py reads.
    string(REPLACE "/" "_" results "${directory}")
    set(results xml:${CMAKE_BINARY_DIR}/test-results/${results})
    set(left_out *Live*)
    if(NOT MEMSTAT_SANITIZER)
      list(APPEND left_out ${SANITIZED_TESTS_OF_${name}})
    endif()
    list(JOIN left_out ":" left_out)
    math(EXPR last "${TEST_SHARDS} - 1")
    foreach(shard RANGE ${last})
      memstat_test_shard(${name} ${directory} ${shard} ${shard} "-${left_out}")
    endforeach()
    add_test(NAME ${directory}/live COMMAND ${name} --gtest_brief=1 --gtest_filter=*Live* --gtest_output=${results}_live.xml)
    set_tests_properties(${directory}/live PROPERTIES TIMEOUT ${TEST_SECONDS} LABELS live RUN_SERIAL TRUE)
    set_property(GLOBAL APPEND PROPERTY MEMSTAT_TEST_PROGRAMS "${name} ${directory}")
    # ctest knows only the tests that a program lists: nothing else would notice a program that lists none.
    add_test(NAME ${directory}/has_tests COMMAND ${name} --gtest_list_tests)
    set_tests_properties(${directory}/has_tests PROPERTIES PASS_REGULAR_EXPRESSION "\n  [A-Za-z]")
    memstat_compile_test(${name})
  endif()
endfunction()
if(NOT MEMSTAT_SANITIZER STREQUAL "thread")  # what they test has no threads
  memstat_test_program(test_base unit/base)
  memstat_test_program(test_parse unit/parse)
  memstat_test_program(test_collect unit/collect)
  memstat_test_program(test_model unit/model)
  memstat_test_program(test_diagnosis unit/diagnosis)
  memstat_test_program(test_inspect unit/inspect)
  memstat_test_program(test_sources unit/sources)
  set(CONTRACT_TARGETS "")  # with their own sources
  if(MEMSTAT_COUNTERS)
    list(APPEND CONTRACT_TARGETS memstat_counter_source)
  endif()
  memstat_test_program(test_contract contract ${CONTRACT_TARGETS})
  # A target with its own sources, as core/counters is one, and a program that has them in its table.
  add_library(memstat_linked_target STATIC)
  memstat_add_sources(memstat_linked_target tests/fixtures/linked_target)
  target_link_libraries(memstat_linked_target PUBLIC memstat_core)
  memstat_test_program(test_linked_target unit/linked_target memstat_linked_target)
endif()
memstat_test_program(test_kernel unit/kernel)
memstat_test_program(test_capture unit/capture)
if(MEMSTAT_POSTMORTEM AND NOT MEMSTAT_SANITIZER STREQUAL "thread")
  memstat_test_program(test_postmortem unit/postmortem memstat_postmortem memstat_c_api)
endif()
if(MEMSTAT_COUNTERS)
  memstat_test_program(test_counters unit/counters memstat_counter_source)
endif()
if(NOT MEMSTAT_SANITIZER STREQUAL "thread")
  memstat_test_program(test_events unit/events memstat_events)
  if(TARGET test_events AND LIBBPF_LIBRARY)
    target_compile_definitions(test_events PRIVATE MEMSTAT_HAVE_LIBBPF)
    target_link_libraries(test_events PRIVATE ${LIBBPF_LIBRARY})
  endif()
endif()
memstat_test_program(test_c_api unit/c_api memstat_c_api)
if(MEMSTAT_DAEMON)
  memstat_test_program(test_config unit/config memstat_config)
  find_package(ZLIB REQUIRED)  # reads back what we compress
  # Apart from test_support: it needs the daemon, and what links test_support may not have that.
  add_library(test_http_client STATIC EXCLUDE_FROM_ALL tests/support/http_client.cpp)
  target_link_libraries(test_http_client PUBLIC memstat_daemon test_support)
  memstat_test_program(test_daemon unit/daemon test_http_client ZLIB::ZLIB)
  memstat_test_program(test_steady_state unit/steady_state memstat_daemon)
  memstat_test_program(test_ctl unit/ctl memstat_ctl)
  add_executable(instructions tests/bench/instructions.cpp)  # end_to_end/instructions_test.py counts its instructions
  target_link_libraries(instructions PRIVATE test_support memstat_daemon)
endif()

get_property(programs GLOBAL PROPERTY MEMSTAT_TEST_PROGRAMS)  # tests/support/filtered_tests.py reads them
list(JOIN programs "\n" programs)
file(WRITE ${CMAKE_BINARY_DIR}/test-programs.txt "${programs}\n")

# Tests that are scripts. Exit status 77: skipped, and the last line printed says why. They run in the release tree; a line
# "# Trees: release asan" at the head of a script names others, "# Seconds: 120" lets a long one begin before the others, and
# scripts that have the same "# Lock: NAME" run one after another, because they count what all of them do to the kernel. "# Long: why"
# labels one that only `tests/run --all` runs.
set(tree release)
if(MEMSTAT_FUZZ)
  set(tree fuzz)
elseif(MEMSTAT_SANITIZER)
  string(REGEX REPLACE "^(.).*" "\\1san" tree ${MEMSTAT_SANITIZER})  # asan, tsan
endif()
file(GLOB_RECURSE scripts CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/tests tests/end_to_end/*_test.py tests/unit/*_test.sh
     tests/lint/*_test.sh tests/lint/*_test.py)
set(script_environment MEMSTATD=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/memstatd
                       MEMSTATCTL=${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/memstatctl SOURCE_DIR=${CMAKE_SOURCE_DIR}
                       BUILD_DIR=${CMAKE_BINARY_DIR} MEMSTAT_SANITIZER=${MEMSTAT_SANITIZER})
foreach(script IN LISTS scripts)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tests/${script})
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/${script} trees REGEX "^# Trees: " LIMIT_COUNT 1)
  string(REGEX REPLACE "^# Trees: *" "" trees "${trees}")
  separate_arguments(trees)
  foreach(word IN LISTS trees)
    if(NOT word MATCHES "^(release|asan|tsan)$")
      message(FATAL_ERROR "tests/${script}: \"# Trees:\" names ${word}; the trees are release, asan and tsan")
    endif()
  endforeach()
  if(NOT trees)
    set(trees release)
  endif()
  if(NOT tree IN_LIST trees)
    continue()
  endif()
  set(interpreter bash)
  if(script MATCHES "\\.py$")
    set(interpreter /usr/bin/python3 -B)
  endif()
  add_test(NAME ${script} COMMAND ${interpreter} ${CMAKE_SOURCE_DIR}/tests/${script})
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/${script} seconds REGEX "^# Seconds: [0-9]+$" LIMIT_COUNT 1)
  string(REGEX REPLACE "^# Seconds: " "" seconds "${seconds}")
  math(EXPR timeout "${TEST_SECONDS} + 4 * 0${seconds}")  # on an idle machine; busy ones take longer
  set_tests_properties(${script} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${timeout} COST "0${seconds}" ENVIRONMENT "${script_environment}")
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/${script} long REGEX "^# Long: " LIMIT_COUNT 1)
  if(long)
    set_tests_properties(${script} PROPERTIES LABELS long)
  endif()
  file(STRINGS ${CMAKE_SOURCE_DIR}/tests/${script} lock REGEX "^# Lock: " LIMIT_COUNT 1)
  if(lock)
    string(REGEX REPLACE "^# Lock: *" "" lock "${lock}")
    separate_arguments(lock)
    set_tests_properties(${script} PROPERTIES RESOURCE_LOCK "${lock}")
  endif()
endforeach()

if(tree STREQUAL "release")
  # promtool takes up to a minute for one file of tests of the rules, so each is a test of its own.
  file(GLOB rule_tests CONFIGURE_DEPENDS RELATIVE ${CMAKE_SOURCE_DIR}/dashboards/prometheus/tests dashboards/prometheus/tests/*_test.yml)
  foreach(rule_test IN LISTS rule_tests)
    add_test(NAME rules/${rule_test}
             COMMAND /usr/bin/python3 -B ${CMAKE_SOURCE_DIR}/tests/support/rule_test.py dashboards/prometheus/tests/${rule_test})
    set_tests_properties(rules/${rule_test} PROPERTIES SKIP_RETURN_CODE 77 TIMEOUT ${TEST_SECONDS} ENVIRONMENT "${script_environment}")
  endforeach()
endif()

if(MEMSTAT_FUZZ AND MEMSTAT_DAEMON)
  include(tests/support/freebsd.cmake)
endif()
if(MEMSTAT_FUZZ)
  include(tests/fuzz/fuzz.cmake)
endif()
