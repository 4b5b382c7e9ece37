# SPDX-License-Identifier: BSD-2-Clause
# Part of `cmake --install`: installs the service file and the default configuration. Their places and the paths in the
# service file depend on the prefix, which is only known now (`cmake --install --prefix`).
#
# In: MEMSTAT_SOURCE (the tree), MEMSTAT_SYSTEM (Linux, FreeBSD, ...), MEMSTAT_BINDIR and MEMSTAT_SYSCONFDIR (absolute or
# below CMAKE_INSTALL_PREFIX). DESTDIR from the environment precedes every path that is written to, but no path inside a
# file.

set(prefix ${CMAKE_INSTALL_PREFIX})
cmake_path(ABSOLUTE_PATH prefix NORMALIZE)
if(prefix STREQUAL "/usr" AND MEMSTAT_SYSCONFDIR STREQUAL "etc")
  set(MEMSTAT_SYSCONFDIR "/etc")  # as GNUInstallDirs has it: there is no /usr/etc
endif()
cmake_path(ABSOLUTE_PATH MEMSTAT_BINDIR BASE_DIRECTORY "${prefix}" NORMALIZE)
cmake_path(ABSOLUTE_PATH MEMSTAT_SYSCONFDIR BASE_DIRECTORY "${prefix}" NORMALIZE)
set(configuration "${MEMSTAT_SYSCONFDIR}/memstatd/memstatd.yaml")

# install_with_paths(FILE DIRECTORY PERMISSIONS FROM TO...): installs FILE with each FROM in it replaced by TO.
function(install_with_paths file directory permissions)
  cmake_path(GET file FILENAME name)
  file(INSTALL DESTINATION "${directory}" TYPE FILE PERMISSIONS ${${permissions}} FILES "${file}")
  file(READ "${file}" text)
  set(replacements ${ARGN})
  while(replacements)
    list(POP_FRONT replacements from to)
    string(FIND "${text}" "${from}" place)
    if(place EQUAL -1)
      message(FATAL_ERROR "${file} no longer contains ${from}: update daemon/package/install_service.cmake")
    endif()
    string(REPLACE "${from}" "${to}" text "${text}")
  endwhile()
  file(WRITE "$ENV{DESTDIR}${directory}/${name}" "${text}")
endfunction()
set(readable OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
set(runnable OWNER_READ OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

if(MEMSTAT_SYSTEM STREQUAL "FreeBSD")
  install_with_paths("${MEMSTAT_SOURCE}/rc.d/memstatd" "${MEMSTAT_SYSCONFDIR}/rc.d" runnable
                     "/usr/local/etc/rc.d/" "${MEMSTAT_SYSCONFDIR}/rc.d/"
                     "/usr/local/etc/memstatd/memstatd.yaml" "${configuration}"
                     "/usr/local/bin/memstatd" "${MEMSTAT_BINDIR}/memstatd")
elseif(MEMSTAT_SYSTEM STREQUAL "Linux")
  install_with_paths("${MEMSTAT_SOURCE}/rc.d/memstatd.service" "${prefix}/lib/systemd/system" readable
                     "/usr/lib/systemd/system/" "${prefix}/lib/systemd/system/"
                     "/etc/memstatd/memstatd.yaml" "${configuration}"
                     "/usr/bin/memstatd" "${MEMSTAT_BINDIR}/memstatd")
endif()

# Keep a configuration that was edited.
set(name memstatd.yaml)
file(READ "${MEMSTAT_SOURCE}/config/memstatd.yaml" shipped)
if(MEMSTAT_SYSTEM STREQUAL "FreeBSD")
  string(REPLACE "/var/lib/memstatd/" "/var/db/memstatd/" shipped "${shipped}")  # the default there, in config.h
endif()
if(EXISTS "$ENV{DESTDIR}${configuration}")
  file(READ "$ENV{DESTDIR}${configuration}" installed)
  if(NOT installed STREQUAL shipped)
    set(name memstatd.yaml.new)
    message(STATUS "Kept ${configuration}; the default is in the same directory as ${name}")
  endif()
endif()
file(INSTALL DESTINATION "${MEMSTAT_SYSCONFDIR}/memstatd" TYPE FILE PERMISSIONS ${readable} RENAME ${name}
     FILES "${MEMSTAT_SOURCE}/config/memstatd.yaml")
file(WRITE "$ENV{DESTDIR}${MEMSTAT_SYSCONFDIR}/memstatd/${name}" "${shipped}")
