# SPDX-License-Identifier: BSD-2-Clause
# Parts: daemon, library (the shared one), development.
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr/local" AND CMAKE_LIBRARY_ARCHITECTURE AND EXISTS /etc/debian_version)
  # Debian searches this directory below /usr and /usr/local; cpack installs the same build into /usr.
  set(CMAKE_INSTALL_LIBDIR lib/${CMAKE_LIBRARY_ARCHITECTURE} CACHE PATH "where libraries go, below the prefix")
endif()
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
set(DATA_DIRECTORY ${CMAKE_INSTALL_DATAROOTDIR})

# memstat_install_page(PART PAGE): installs a manual page, if it exists.
function(memstat_install_page part page)
  cmake_path(GET page EXTENSION LAST_ONLY section)
  string(SUBSTRING ${section} 1 -1 section)
  if(EXISTS ${CMAKE_SOURCE_DIR}/${page})
    install(FILES ${page} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT ${part})
  endif()
endfunction()

if(TARGET memstat)
  set(PACKAGE_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/cmake/memstat)
  set(PC_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  if(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
    set(PC_DIRECTORY libdata/pkgconfig)
  endif()
  file(RELATIVE_PATH PREFIX_FROM_PC /${PC_DIRECTORY} /)
  string(REGEX REPLACE "/$" "" PREFIX_FROM_PC "${PREFIX_FROM_PC}")
  configure_file(core/package/memstat.pc.in package/memstat.pc @ONLY)
  configure_package_config_file(core/package/memstat-config.cmake.in package/memstat-config.cmake
                                INSTALL_DESTINATION ${PACKAGE_DIRECTORY})
  write_basic_package_version_file(${CMAKE_BINARY_DIR}/package/memstat-config-version.cmake COMPATIBILITY SameMajorVersion)

  install(TARGETS memstat EXPORT memstat-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT library NAMELINK_COMPONENT development)
  install(TARGETS memstat_static EXPORT memstat-static-targets INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  foreach(export memstat-targets memstat-static-targets)
    install(EXPORT ${export} NAMESPACE memstat:: DESTINATION ${PACKAGE_DIRECTORY} COMPONENT development)
  endforeach()
  install(FILES ${CMAKE_BINARY_DIR}/package/memstat-config.cmake ${CMAKE_BINARY_DIR}/package/memstat-config-version.cmake
          DESTINATION ${PACKAGE_DIRECTORY} COMPONENT development)
  install(FILES ${CMAKE_BINARY_DIR}/package/memstat.pc DESTINATION ${PC_DIRECTORY} COMPONENT development)
  install(FILES core/include/memstat.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT development)
  install(FILES LICENSE DESTINATION ${DATA_DIRECTORY}/doc/libmemstat3 RENAME copyright COMPONENT library)
  install(FILES LICENSE DESTINATION ${DATA_DIRECTORY}/doc/libmemstat-dev RENAME copyright COMPONENT development)
  memstat_install_page(development core/man/memstat.3)
endif()

if(TARGET cpc)
  set(PC_DIRECTORY ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  if(CMAKE_SYSTEM_NAME STREQUAL "FreeBSD")
    set(PC_DIRECTORY libdata/pkgconfig)
  endif()
  file(RELATIVE_PATH PREFIX_FROM_PC /${PC_DIRECTORY} /)
  string(REGEX REPLACE "/$" "" PREFIX_FROM_PC "${PREFIX_FROM_PC}")
  configure_file(core/package/cpc.pc.in package/cpc.pc @ONLY)
  install(TARGETS cpc LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT counters NAMELINK_COMPONENT counters_development)
  install(FILES ${CMAKE_BINARY_DIR}/package/cpc.pc DESTINATION ${PC_DIRECTORY} COMPONENT counters_development)
  install(FILES core/include/libcpc.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT counters_development)
  install(FILES LICENSE DESTINATION ${DATA_DIRECTORY}/doc/libcpc1 RENAME copyright COMPONENT counters)
  install(FILES LICENSE DESTINATION ${DATA_DIRECTORY}/doc/libcpc-dev RENAME copyright COMPONENT counters_development)
  memstat_install_page(counters_development core/man/cpc.3)
endif()

if(TARGET memstatd)
  install(TARGETS memstatd RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT daemon)
  if(TARGET memstatctl)
    install(TARGETS memstatctl RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT daemon)
  endif()
  # For --demo. The build tree has it at the same place from bin/ as an installation.
  set(DEMO tests/fixtures/captures/freebsd-15.0-amd64-2cpu-limits.tar.zst)
  configure_file(${DEMO} ${CMAKE_BINARY_DIR}/share/memstatd/demo.tar.zst COPYONLY)
  install(FILES ${DEMO} DESTINATION ${DATA_DIRECTORY}/memstatd RENAME demo.tar.zst COMPONENT daemon)
  install(FILES LICENSE DESTINATION ${DATA_DIRECTORY}/doc/memstatd RENAME copyright COMPONENT daemon)
  install(FILES daemon/web/uplot/LICENSE DESTINATION ${DATA_DIRECTORY}/doc/memstatd RENAME copyright.uplot COMPONENT daemon)
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux")
    install(DIRECTORY rc.d/memstatd.service.d/ DESTINATION ${DATA_DIRECTORY}/doc/memstatd/examples COMPONENT daemon FILES_MATCHING PATTERN *.conf)
  endif()
  if(CMAKE_SYSTEM_NAME STREQUAL "Linux" AND NOT MEMSTAT_SANITIZER)
    set(SBOM ${CMAKE_BINARY_DIR}/package/memstatd.spdx.json)
    set(programs $<TARGET_FILE:memstatd>$<$<TARGET_EXISTS:memstatctl>:,$<TARGET_FILE:memstatctl>>)
    add_custom_command(OUTPUT ${SBOM} DEPENDS memstatd $<TARGET_NAME_IF_EXISTS:memstatctl> daemon/package/sbom.cmake daemon/README.md VERBATIM
                       COMMAND ${CMAKE_COMMAND} -DPROGRAMS=${programs} -DVERSION=${PROJECT_VERSION} -DSOURCE=${CMAKE_SOURCE_DIR}
                               -DOUTPUT=${SBOM} -P ${CMAKE_SOURCE_DIR}/daemon/package/sbom.cmake)
    add_custom_target(sbom ALL DEPENDS ${SBOM})
    # Missing if only some targets were built.
    install(FILES ${SBOM} DESTINATION ${DATA_DIRECTORY}/doc/memstatd COMPONENT daemon OPTIONAL)
  endif()
  # A separate part, because the Prometheus server is usually another machine.
  install(FILES LICENSE DESTINATION ${DATA_DIRECTORY}/doc/memstatd-dashboards RENAME copyright COMPONENT dashboards)
  install(DIRECTORY dashboards DESTINATION ${DATA_DIRECTORY}/memstatd COMPONENT dashboards PATTERN tests EXCLUDE PATTERN pictures EXCLUDE
          PATTERN render EXCLUDE PATTERN __pycache__ EXCLUDE
          PATTERN *.sh PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  memstat_install_page(daemon daemon/man/memstatd.8)
  memstat_install_page(daemon daemon/man/memstatctl.8)
  memstat_install_page(daemon daemon/man/memstatd-metrics.7)
  memstat_install_page(daemon daemon/man/memstatd-sources.7)
  memstat_install_page(daemon config/man/memstatd.yaml.5)
  install(CODE "set(MEMSTAT_SOURCE \"${CMAKE_SOURCE_DIR}\")
set(MEMSTAT_SYSTEM \"${CMAKE_SYSTEM_NAME}\")
set(MEMSTAT_BINDIR \"${CMAKE_INSTALL_BINDIR}\")
set(MEMSTAT_SYSCONFDIR \"${CMAKE_INSTALL_SYSCONFDIR}\")" COMPONENT daemon)
  install(SCRIPT daemon/package/install_service.cmake COMPONENT daemon)
  install(CODE "set(MEMSTAT_DATADIR \"${DATA_DIRECTORY}\")" COMPONENT dashboards)
  install(SCRIPT daemon/package/install_dashboards.cmake COMPONENT dashboards)
endif()

# Everything that is installed and packaged, with or without tests. `daemon/run --build` builds it.
add_custom_target(shipped)
foreach(target memstat memstat_static cpc memstatd memstatctl sbom)
  if(TARGET ${target})
    add_dependencies(shipped ${target})
  endif()
endforeach()
