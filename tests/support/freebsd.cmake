# SPDX-License-Identifier: BSD-2-Clause
# FreeBSD's compiler and C++ library read everything that is built there, against headers that declare what its releases declare
# (freebsd_headers) and with its macros, so that what only Linux has does not compile. Only the clang tree does.
set(FREEBSD_TARGETS memstat_core memstat_archive memstat_postmortem memstat_c_api memstat_counters memstat_counter_source
    memstat_events memstat_config memstat_selftest memstat_catalogue memstat_explain memstat_engine memstat_daemon memstat_ctl)
foreach(target ${FREEBSD_TARGETS})
  get_target_property(files ${target} SOURCES)
  list(FILTER files EXCLUDE REGEX "/generated/")
  set(FREEBSD_FILES_OF_${target} ${files})
  list(APPEND FREEBSD_FILES ${files})
endforeach()
# Linux's kernel headers are out of reach: each one that any file names.
foreach(file ${FREEBSD_FILES})
  file(STRINGS ${file} lines REGEX "^#include <((linux|asm|bpf|perfmon)/|seccomp|sys/(prctl|epoll|inotify|signalfd|timerfd))")
  foreach(line ${lines})
    string(REGEX REPLACE ".*<(.*)>.*" "\\1" header "${line}")
    file(CONFIGURE OUTPUT freebsd_headers/${header} CONTENT "#error \"only Linux has ${header}\"\n")
  endforeach()
endforeach()
# memstat_freebsd_objects(NAME RELEASE FILES...): without optimization, because only the errors of the compiler and the linker matter.
function(memstat_freebsd_objects name release)
  set(headers ${CMAKE_SOURCE_DIR}/tests/support/freebsd_headers)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE prometheus-cpp::core yaml-cpp civetweb::civetweb spdlog::spdlog CLI11::CLI11
                        nlohmann_json::nlohmann_json)
  target_compile_definitions(${name} PRIVATE MEMSTAT_VERSION="${MEMSTAT_VERSION}" FREEBSD_RELEASE=${release} MEMSTAT_HAVE_LIBDTRACE
                             MEMSTAT_HAVE_COUNTERS MEMSTAT_HAVE_POSTMORTEM)
  target_compile_options(${name} BEFORE PRIVATE "SHELL:-isystem ${headers}" "SHELL:-isystem ${CMAKE_BINARY_DIR}/freebsd_headers"
                         "SHELL:-include ${headers}/prefix.h")
  target_compile_options(${name} PRIVATE -stdlib=libc++ -O0 -g0)
endfunction()
# A library for each, so that a unity build puts the same files together as there.
set(FREEBSD_OBJECTS "")
foreach(target ${FREEBSD_TARGETS})
  memstat_freebsd_objects(freebsd_${target} 15 ${FREEBSD_FILES_OF_${target}})
  list(APPEND FREEBSD_OBJECTS $<TARGET_OBJECTS:freebsd_${target}>)
endforeach()
# FreeBSD's own files, compiled for earlier releases.
foreach(release 13 14)
  memstat_freebsd_objects(freebsd_${release}_objects ${release} core/kernel/live_freebsd.cpp core/inspect/calls_freebsd.cpp
                          core/kernel/reader_process.cpp core/base/buffer.cpp
                          core/counters/pmc_freebsd.cpp core/events/malloc/malloc_events_freebsd.cpp core/postmortem/open_dump.cpp
                          core/postmortem/freebsd/kvm_freebsd.cpp core/postmortem/freebsd/image.cpp
                          daemon/process/helpers.cpp daemon/privileges/helper.cpp daemon/privileges/privileges_freebsd.cpp
                          daemon/ctl/commands/resident.cpp)
endforeach()
# Nothing is missing when it is linked, and it uses no library that is not linked there.
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/freebsd_links.stamp DEPENDS ${FREEBSD_OBJECTS} tests/support/freebsd_links.py
                   COMMAND python3 -B ${CMAKE_SOURCE_DIR}/tests/support/freebsd_links.py ${FREEBSD_OBJECTS}
                   COMMAND ${CMAKE_COMMAND} -E touch ${CMAKE_BINARY_DIR}/freebsd_links.stamp COMMAND_EXPAND_LISTS VERBATIM)
add_custom_target(freebsd_links ALL DEPENDS ${CMAKE_BINARY_DIR}/freebsd_links.stamp)
