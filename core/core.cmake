# SPDX-License-Identifier: BSD-2-Clause
# The library: reads kernels, captures and archives of captures.
file(GLOB CORE_FILES CONFIGURE_DEPENDS core/*.cpp core/base/*.cpp core/parse/*.cpp core/model/*.cpp core/kernel/*.cpp core/capture/*.cpp
     core/collect/*.cpp core/diagnosis/*.cpp core/inspect/*.cpp)
list(FILTER CORE_FILES EXCLUDE REGEX "core/(kernel/open_view|capture/(archive|archive_stream|time_line|thinned_recording))\\.cpp$")
memstat_library(memstat_core ${CORE_FILES})
memstat_add_sources(memstat_core core/sources)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  memstat_use_library(memstat_core ${MEMSTAT_JOURNAL} SYSTEMD systemd/sd-journal.h systemd libsystemd-dev
                      "kills by systemd-oomd, earlyoom and other programs are not reported" LOADED_WHEN_NEEDED
                      ONLY_IN ${CMAKE_SOURCE_DIR}/core/collect/journal_messages.cpp)
endif()
include(core/diagnosis/causes.cmake)
memstat_add_causes(memstat_core)
include(core/inspect/inspect.cmake)
memstat_add_inspections(memstat_core)

# Openers of views other than the live kernel, in the order in which they are tried: names of a ViewOpener in
# memstat::view_openers. Those of separate targets (crash dumps) precede `capture`, which accepts everything else.
set(VIEW_OPENERS capture)
if(MEMSTAT_POSTMORTEM)
  list(PREPEND VIEW_OPENERS dump)
endif()
memstat_write_table(all_view_openers FROM VIEW_OPENERS HEADER core/kernel/open_view.h SPACE view_openers TYPE ViewOpener
                    FUNCTION all_view_openers NAMES ${VIEW_OPENERS})

# Captures in archives may need libzstd, so they and their opener are a separate target.
memstat_library(memstat_archive core/capture/archive.cpp core/capture/archive_stream.cpp core/capture/time_line.cpp
                core/capture/thinned_recording.cpp core/kernel/open_view.cpp
                ${GENERATED}/all_view_openers.cpp)
# They need a table of sources, which libcpc lacks.
set_source_files_properties(core/source.cpp core/query.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
target_link_libraries(memstat_archive PUBLIC memstat_core $<TARGET_NAME_IF_EXISTS:memstat_postmortem>)
memstat_use_library(memstat_archive ${MEMSTAT_ZSTD} ZSTD zstd.h zstd libzstd-dev "captures are directories or .tar, not .tar.zst")
set(ARCHIVE_LIBRARY ${ZSTD_LIBRARY})
