# SPDX-License-Identifier: BSD-2-Clause
# FreeBSD's compiler and C++ library read everything that is built there: objects that are not linked. Only the clang tree does.
set(LIBCXX_FILES "")
foreach(target memstat_core memstat_archive memstat_c_api memstat_counters memstat_counter_source memstat_events memstat_config
        memstat_selftest memstat_catalogue memstat_explain
        memstat_engine memstat_daemon memstat_ctl)
  get_target_property(files ${target} SOURCES)
  list(APPEND LIBCXX_FILES ${files})
endforeach()
list(APPEND LIBCXX_FILES ${POSTMORTEM_FILES})
list(FILTER LIBCXX_FILES EXCLUDE REGEX "/generated/")
# memstat_libcxx_objects(NAME FILES...): without machine code, for it is only what the compiler says of them.
function(memstat_libcxx_objects name)
  add_library(${name} OBJECT ${ARGN})
  target_link_libraries(${name} PRIVATE prometheus-cpp::core yaml-cpp civetweb::civetweb spdlog::spdlog CLI11::CLI11
                        nlohmann_json::nlohmann_json)
  target_compile_options(${name} PRIVATE -stdlib=libc++ -O0 -g0 -emit-llvm)
  target_compile_definitions(${name} PRIVATE MEMSTAT_VERSION="${PROJECT_VERSION}")
endfunction()
memstat_libcxx_objects(libcxx_objects ${LIBCXX_FILES})
# What only FreeBSD compiles, against headers that declare what its releases declare.
foreach(release 13 14 15)
  memstat_libcxx_objects(freebsd_${release}_objects core/kernel/live_freebsd.cpp core/kernel/reader_process.cpp
                         daemon/process/kernel_reader.cpp daemon/privileges/helper.cpp daemon/privileges/privileges_freebsd.cpp
                         daemon/ctl/commands/residency.cpp core/base/mapped_memory.cpp
                         core/counters/pmc_freebsd.cpp core/events/malloc/malloc_events_freebsd.cpp core/postmortem/freebsd/kvm_freebsd.cpp
                         core/postmortem/open_dump.cpp core/postmortem/freebsd/kernel_files.cpp)
  target_compile_definitions(freebsd_${release}_objects PRIVATE FREEBSD_RELEASE=${release} MEMSTAT_HAVE_LIBDTRACE)
  target_compile_options(freebsd_${release}_objects BEFORE PRIVATE
                         -isystem ${CMAKE_SOURCE_DIR}/tests/support/freebsd_headers -include
                         ${CMAKE_SOURCE_DIR}/tests/support/freebsd_headers/prefix.h)
endforeach()
