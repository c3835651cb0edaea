# Run by `cmake --install`: CMAKE_INSTALL_PREFIX and DESTDIR are those of that call.
set(CLOCHE_LIBEXEC ${CMAKE_INSTALL_PREFIX}/libexec/cloche)
set(CLOCHE_SHARE ${CMAKE_INSTALL_PREFIX}/share/cloche)
set(CLOCHE_UNITS_system ${CMAKE_INSTALL_PREFIX}/lib/systemd/system)
# Where systemd looks below /usr, /usr/local and ~/.local alike; lib/ is not looked at in a home.
set(CLOCHE_UNITS_user ${CMAKE_INSTALL_PREFIX}/share/systemd/user)
set(CLOCHE_SYSUSERS ${CMAKE_INSTALL_PREFIX}/lib/sysusers.d)

function(put file directory mode)
  get_filename_component(name ${file} NAME)
  set(target "$ENV{DESTDIR}${directory}/${name}")
  message(STATUS "Installing: ${target}")
  configure_file(${CLOCHE_PACKAGING}/${file} ${target} @ONLY NO_SOURCE_PERMISSIONS)
  if(mode STREQUAL program)
    file(CHMOD ${target} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE
         GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
  endif()
endfunction()

foreach(kind system user)
  put(systemd/${kind}/cloched.service ${CLOCHE_UNITS_${kind}} file)
  put(systemd/${kind}/cloched.socket ${CLOCHE_UNITS_${kind}} file)
endforeach()
put(sysusers.d/cloche.conf ${CLOCHE_SYSUSERS} file)
put(apparmor/cloche-sandbox ${CLOCHE_SHARE}/apparmor file)
put(apparmor/cloche-spawn ${CLOCHE_SHARE}/apparmor file)
put(cloche-setup ${CLOCHE_LIBEXEC} program)
