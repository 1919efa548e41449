# The Debian package (`make deb`): what `cmake --install` puts below /usr, stripped, with the dependencies that its files have.

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME drydock)
set(CPACK_PACKAGE_VENDOR "Drydock")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "dry run of distributed training for every rank, without accelerators")
# CPack puts the summary in front.
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"Drydock takes the place of MindSpore's msrun: it runs the training script
once, compiles the step for every rank of the job, and reports whether the
sharding is legal, what is communicated and how much memory each rank needs.
It then starts the real job with the same command.")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE
    WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_MAINTAINER "Drydock maintainers <maintainers@drydock.dev>")
set(CPACK_DEBIAN_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_DEPENDS "python3, python3-numpy")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

# What Debian's policy wants beside the files: licence and change log, and manual pages compressed.
file(READ ${PROJECT_SOURCE_DIR}/LICENSE license LIMIT 40)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/copyright CONTENT
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: drydock

Files: *
Copyright: 2026 the authors of Drydock
License: Apache-2.0
 On Debian systems the full text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
")
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/debian/changelog CONTENT
"drydock (@PROJECT_VERSION@) unstable; urgency=medium

  * See the change log of the project.

 -- Drydock maintainers <maintainers@drydock.dev>  Sun, 29 Nov 2026 00:00:00 +0000
" @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/debian/copyright DESTINATION share/doc/drydock COMPONENT debian EXCLUDE_FROM_ALL)
install(CODE "
  set(root \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
  execute_process(COMMAND gzip -9 -n -c ${PROJECT_BINARY_DIR}/debian/changelog
    OUTPUT_FILE \"\${root}/share/doc/drydock/changelog.gz\")
  file(GLOB pages \"\${root}/share/man/man1/*.1\")
  execute_process(COMMAND gzip -9 -n \${pages})
" COMPONENT debian EXCLUDE_FROM_ALL)
set(CPACK_COMPONENTS_ALL Unspecified debian)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING ALL_COMPONENTS_IN_ONE)
set(CPACK_POST_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/repack_deb.cmake)
include(CPack)
