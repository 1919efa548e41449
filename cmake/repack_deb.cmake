# CPack counts the program behind the link `msrun` once more in Installed-Size, and has every package with a library refresh the
# system's list of libraries, in which ours, of our own folder, never is. The package is packed again without both.
foreach(package ${CPACK_PACKAGE_FILES})
  set(folder ${CPACK_TEMPORARY_DIRECTORY}/repack)
  file(REMOVE_RECURSE ${folder})
  execute_process(COMMAND dpkg-deb -R ${package} ${folder} COMMAND_ERROR_IS_FATAL ANY)
  file(REMOVE ${folder}/DEBIAN/postinst ${folder}/DEBIAN/postrm)
  execute_process(COMMAND du -k --apparent-size -s --exclude=DEBIAN ${folder} OUTPUT_VARIABLE size COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCH "^[0-9]+" size "${size}")
  file(READ ${folder}/DEBIAN/control control)
  string(REGEX REPLACE "Installed-Size: [0-9]+" "Installed-Size: ${size}" control "${control}")
  file(WRITE ${folder}/DEBIAN/control "${control}")
  execute_process(COMMAND dpkg-deb --root-owner-group -b ${folder} ${package} COMMAND_ERROR_IS_FATAL ANY OUTPUT_QUIET)
endforeach()
