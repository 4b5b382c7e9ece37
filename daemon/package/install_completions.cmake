# SPDX-License-Identifier: BSD-2-Clause
# Installs what `memstatctl completion` prints where each shell looks for it. Debian's zsh has its own directory below /usr.
set(zsh_directory site-functions)
if(CMAKE_INSTALL_PREFIX STREQUAL "/usr" AND EXISTS /etc/debian_version)
  set(zsh_directory vendor-completions)
endif()
foreach(place bash:bash-completion/completions/memstatctl zsh:zsh/${zsh_directory}/_memstatctl
              fish:fish/vendor_completions.d/memstatctl.fish)
  string(REGEX MATCH "^([a-z]+):(.*)/([^/]+)$" place ${place})
  set(shell ${CMAKE_MATCH_1})
  set(directory ${CMAKE_MATCH_2})
  set(name ${CMAKE_MATCH_3})
  if(EXISTS ${MEMSTAT_COMPLETIONS}/${shell})
    file(INSTALL ${MEMSTAT_COMPLETIONS}/${shell} DESTINATION ${CMAKE_INSTALL_PREFIX}/${MEMSTAT_DATADIR}/${directory} RENAME ${name})
  endif()
endforeach()
