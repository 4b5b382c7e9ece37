# SPDX-License-Identifier: BSD-2-Clause
# CPU performance counters: libcpc, and the source that memstatd counts with.
if(MEMSTAT_COUNTERS AND CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
  find_path(PMC_INCLUDE pmc.h)
  if(NOT PMC_INCLUDE)
    message(STATUS "pmc.h was not found: libcpc is not built. A base system built WITHOUT_PMC has none")
    set(MEMSTAT_COUNTERS OFF)
  endif()
endif()
if(MEMSTAT_COUNTERS)
  file(GLOB COUNTER_FILES CONFIGURE_DEPENDS core/counters/*.cpp)
  memstat_library(memstat_counters ${COUNTER_FILES})
  target_link_libraries(memstat_counters PUBLIC memstat_core)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    memstat_use_library(memstat_counters ${MEMSTAT_LIBPFM} LIBPFM perfmon/pfmlib_perf_event.h pfm libpfm4-dev
                        "libcpc knows the kernel's generic events and raw codes only" LOADED_WHEN_NEEDED)
  endif()  # FreeBSD's libpmc is loaded when it is needed, too: nothing to link

  # memstatd's source of CPU counters, which libcpc does not need.
  memstat_library(memstat_counter_source)
  target_link_libraries(memstat_counter_source PUBLIC memstat_counters)
  memstat_add_sources(memstat_counter_source core/counters/sources)

  # libcpc.so.1: number 1 is the original's.
  if(NOT MEMSTAT_FUZZ)
    set(CPC_MAP ${CMAKE_SOURCE_DIR}/core/counters/libcpc.map)
    add_library(cpc SHARED $<TARGET_OBJECTS:memstat_counters>)
    target_link_libraries(cpc PRIVATE memstat_core ${CMAKE_DL_LIBS})
    set_target_properties(cpc PROPERTIES SOVERSION 1 VERSION 1.0 LINKER_LANGUAGE CXX LINK_DEPENDS ${CPC_MAP})
    target_link_options(cpc PRIVATE -Wl,--version-script=${CPC_MAP})
    if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT MEMSTAT_SANITIZER)
      target_link_options(cpc PRIVATE -Wl,-z,defs)
    endif()
  endif()
endif()
