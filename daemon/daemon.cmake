# SPDX-License-Identifier: BSD-2-Clause
# memstatd.
find_package(Threads REQUIRED)
find_package(prometheus-cpp REQUIRED COMPONENTS core)
find_package(civetweb REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(nlohmann_json REQUIRED)

file(GLOB_RECURSE DAEMON_FILES CONFIGURE_DEPENDS daemon/*.cpp)
list(FILTER DAEMON_FILES EXCLUDE REGEX "daemon/(main\\.cpp|(ctl|selftest|explain|poll|tracking|snapshot|exposition)/.*|incidents/incident\\.cpp|telemetry/self_metrics\\.cpp)$")
# Code shared by memstatd and memstatctl.
file(GLOB SELFTEST_FILES CONFIGURE_DEPENDS daemon/selftest/*.cpp)
memstat_library(memstat_selftest ${SELFTEST_FILES})
memstat_quick(memstat_selftest)
target_link_libraries(memstat_selftest PUBLIC memstat_core memstat_archive Threads::Threads)
# Explanations: the metric catalogue, which memstatd uses too, and for memstatctl the runbooks and well-known types.
memstat_library(memstat_catalogue daemon/snapshot/metric_catalogue.cpp daemon/snapshot/own_metrics.cpp)
target_link_libraries(memstat_catalogue PUBLIC memstat_core)
file(GLOB EXPLAIN_TABLES RELATIVE ${CMAKE_SOURCE_DIR} CONFIGURE_DEPENDS daemon/explain/*.txt)
# Adds to a target a function for each text file, which returns its bytes: runbooks_text() for runbooks.md.
function(memstat_embed target)
  foreach(file IN LISTS ARGN)
    get_filename_component(name ${file} NAME_WE)
    set(text ${GENERATED}/${name}_text.cpp)
    add_custom_command(OUTPUT ${text} DEPENDS ${file} daemon/explain/embed.cmake VERBATIM
                       COMMAND ${CMAKE_COMMAND} -DINPUT=${CMAKE_SOURCE_DIR}/${file} -DOUTPUT=${text} -DFUNCTION=${name}_text
                               -P ${CMAKE_SOURCE_DIR}/daemon/explain/embed.cmake)
    # It declares its function, which headers declare as well.
    set_source_files_properties(${text} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    target_sources(${target} PRIVATE ${text})
  endforeach()
endfunction()
file(GLOB EXPLAIN_FILES CONFIGURE_DEPENDS daemon/explain/*.cpp)
memstat_library(memstat_explain ${EXPLAIN_FILES})
memstat_embed(memstat_explain dashboards/runbooks.md ${EXPLAIN_TABLES})
memstat_quick(memstat_explain)
target_link_libraries(memstat_explain PUBLIC memstat_catalogue)
# From the kernel to a snapshot, which memstatd serves and memstatctl prints.
file(GLOB ENGINE_FILES CONFIGURE_DEPENDS daemon/poll/*.cpp daemon/tracking/*.cpp daemon/snapshot/*.cpp daemon/exposition/*.cpp)
list(FILTER ENGINE_FILES EXCLUDE REGEX "daemon/snapshot/(metric_catalogue|own_metrics)\\.cpp$")
memstat_library(memstat_engine ${ENGINE_FILES} daemon/incidents/incident.cpp daemon/telemetry/self_metrics.cpp)
target_link_libraries(memstat_engine PUBLIC memstat_catalogue memstat_core memstat_events memstat_config memstat_archive prometheus-cpp::core Threads::Threads)
# The status page's files, embedded in the program.
file(GLOB WEB_FILES CONFIGURE_DEPENDS daemon/web/*.* daemon/web/uplot/*.*)
set(WEB_ASSETS ${GENERATED}/web_assets.cpp)
add_custom_command(OUTPUT ${WEB_ASSETS} DEPENDS ${WEB_FILES} VERBATIM
                   COMMAND ${CMAKE_COMMAND} -DDIRECTORY=${CMAKE_SOURCE_DIR}/daemon/web -DOUTPUT=${WEB_ASSETS}
                           -P ${CMAKE_SOURCE_DIR}/daemon/web/embed.cmake)
memstat_library(memstat_daemon ${DAEMON_FILES} ${WEB_ASSETS})
target_link_libraries(memstat_daemon PUBLIC memstat_engine memstat_selftest memstat_explain
                      PRIVATE civetweb::civetweb spdlog::spdlog CLI11::CLI11)
target_compile_definitions(memstat_daemon PRIVATE MEMSTAT_VERSION="${MEMSTAT_VERSION}")
memstat_unoptimized(daemon/options.cpp)
if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
  memstat_use_library(memstat_daemon ${MEMSTAT_SECCOMP} SECCOMP seccomp.h seccomp libseccomp-dev "memstatd filters no system calls")
endif()
find_library(CRYPT_LIBRARY crypt REQUIRED)
target_link_libraries(memstat_daemon PRIVATE ${CRYPT_LIBRARY})

memstat_use_library(memstat_daemon ${MEMSTAT_GZIP} ISAL isa-l/igzip_lib.h isal libisal-dev "memstatd offers no gzip")

if(MEMSTAT_COUNTERS)
  target_link_libraries(memstat_daemon PUBLIC memstat_counter_source)
endif()

add_executable(memstatd daemon/main.cpp)
memstat_ships(memstatd)
target_link_libraries(memstatd PRIVATE memstat_daemon)
