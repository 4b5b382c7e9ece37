# SPDX-License-Identifier: BSD-2-Clause
# `cpack -G DEB` runs this after it has laid out the trees of all packages. It does what Debian's policy requires beyond `cmake
# --install`: manual pages are compressed, each package has its change log, and directories are accessible whatever the umask
# is.
foreach(part ${CPACK_COMPONENTS_ALL})
  execute_process(COMMAND find "${CPACK_TEMPORARY_DIRECTORY}/${part}" -type d -exec chmod 755 {} + COMMAND_ERROR_IS_FATAL ANY)
  set(tree "${CPACK_TEMPORARY_DIRECTORY}/${part}/usr")
  string(TOUPPER ${part} upper)
  set(documents "${tree}/share/doc/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
  file(COPY_FILE "${CPACK_MEMSTAT_CHANGELOG}" "${documents}/changelog.Debian")
  file(CHMOD "${documents}/changelog.Debian" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  if(part STREQUAL "library" OR part STREQUAL "counters")
    set(overrides "${tree}/share/lintian/overrides/${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
    file(WRITE "${overrides}" "# The trigger renews the linker's cache. Without scripts of the package CMake adds some that do it in another root.
maintainer-script-empty [postinst]
maintainer-script-empty [postrm]
")
    file(CHMOD "${overrides}" PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
  endif()
  file(GLOB pages "${tree}/share/man/man*/*.[1-9]")
  execute_process(COMMAND gzip -9nf ${pages} "${documents}/changelog.Debian" COMMAND_ERROR_IS_FATAL ANY)
endforeach()
