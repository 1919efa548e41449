# What gets installed and run: the graph recorder for Python, and the commands.

# An installation is bin, lib/drydock and share below one prefix; in a wheel these are its scripts and its data, which pip
# puts below the prefix of the environment.
set(DRYDOCK_BIN bin)
set(DRYDOCK_LIB lib/drydock)
set(DRYDOCK_SHARE share)
if(SKBUILD)
  set(DRYDOCK_BIN ${SKBUILD_SCRIPTS_DIR})
  set(DRYDOCK_LIB ${SKBUILD_DATA_DIR}/lib/drydock)
  set(DRYDOCK_SHARE ${SKBUILD_DATA_DIR}/share)
endif()

# A portable program carries the C++ library inside and what else it needs beside it (lib/drydock). The unwinder stays the
# system's: the one that could be linked in wants glibc 2.35. Threads and dynamic loading were libraries of their own
# before glibc 2.34.
function(drydock_portable target)
  if(DRYDOCK_PORTABLE)
    target_sources(${target} PRIVATE cmake/portable_symbols.cc)
    target_link_options(${target} PRIVATE -static-libstdc++ -shared-libgcc LINKER:--gc-sections
      "SHELL:-Wl,--no-as-needed -l:libpthread.so.0 -l:libdl.so.2 -Wl,--as-needed")
  endif()
endfunction()

# The Python stand-in loads this library through ctypes; the operator table is linked whole.
if(EXISTS ${PROJECT_SOURCE_DIR}/reports/trace_library.cc)
  add_library(drydock_trace SHARED reports/trace_library.cc)
  target_link_libraries(drydock_trace PRIVATE drydock_options drydock::reports drydock::tracer drydock::strategies)
  target_link_options(drydock_trace PRIVATE LINKER:--exclude-libs,ALL LINKER:--no-undefined)
  set_target_properties(drydock_trace PROPERTIES CXX_VISIBILITY_PRESET default)
  drydock_portable(drydock_trace)
endif()

# The build folder has the layout of an installation (bin, lib/drydock, share/drydock), so that the
# program finds its files from its own place in both and knows no path of the build machine.
if(TARGET drydock_trace)
  set_target_properties(drydock_trace PROPERTIES
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/drydock)
  install(TARGETS drydock_trace LIBRARY DESTINATION ${DRYDOCK_LIB})
endif()
if(EXISTS ${PROJECT_SOURCE_DIR}/sim/tracer/python)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/drydock)
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sim/tracer/python ${PROJECT_BINARY_DIR}/share/drydock/python
       SYMBOLIC)
  install(DIRECTORY sim/tracer/python DESTINATION ${DRYDOCK_SHARE}/drydock PATTERN __pycache__ EXCLUDE
          PATTERN reports EXCLUDE)
  # Bytecode for the interpreter of this machine; others keep theirs in the user's cache folder.
  find_program(DRYDOCK_SCRIPT_PYTHON python3)
  if(DRYDOCK_SCRIPT_PYTHON AND NOT SKBUILD AND NOT DRYDOCK_DEB)
    install(CODE "set(root \"\$ENV{DESTDIR}\")
      set(strip)
      if(root)
        set(strip -s \"\${root}\" -p /)
      endif()
      execute_process(COMMAND ${DRYDOCK_SCRIPT_PYTHON} -m compileall -q --invalidation-mode unchecked-hash
        \${strip} \"\${root}\${CMAKE_INSTALL_PREFIX}/share/drydock/python\" OUTPUT_QUIET ERROR_QUIET)")
  endif()
endif()

# Hardware profiles of simulation level 3.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/drydock)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/sim/timing/hardware ${PROJECT_BINARY_DIR}/share/drydock/hardware SYMBOLIC)
install(DIRECTORY sim/timing/hardware DESTINATION ${DRYDOCK_SHARE}/drydock)

# Pages of the documentation that commands print.
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/share/drydock/pages)
foreach(page errors.md zh/errors.md)
  string(REGEX REPLACE "(zh)/(.*)\\.md" "\\2.\\1.md" name ${page})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/docs/${page} ${PROJECT_BINARY_DIR}/share/drydock/pages/${name} SYMBOLIC)
  install(FILES docs/${page} DESTINATION ${DRYDOCK_SHARE}/drydock/pages RENAME ${name})
endforeach()

# The script that `drydock plan` compiles.
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/docs/examples/transformer ${PROJECT_BINARY_DIR}/share/drydock/planning SYMBOLIC)
install(DIRECTORY docs/examples/transformer/ DESTINATION ${DRYDOCK_SHARE}/drydock/planning PATTERN __pycache__ EXCLUDE)

# One program; called msrun it is msrun. The msrun beside it has only what starts ranks, so that it is loaded at once.
if(EXISTS ${PROJECT_SOURCE_DIR}/launcher/main.cc)
  add_executable(drydock launcher/main.cc)
  target_link_libraries(drydock PRIVATE drydock_options drydock::launcher)
  drydock_allocator(drydock)
  set_target_properties(drydock PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  if(TARGET drydock_trace)
    add_dependencies(drydock drydock_trace)
  endif()
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_executable(msrun launcher/start_main.cc launcher/start_without_crypto.cc)
  set(parts reports planning fleet calibration timing tracer memory strategies_parts layout cluster base)
  if(CMAKE_BUILD_TYPE STREQUAL Debug)
    list(TRANSFORM parts PREPEND drydock::)
    list(REMOVE_ITEM parts drydock::strategies_parts)
  else()
    # Of these it needs a function here and there. They are named by their files: with their names would come all operators.
    list(TRANSFORM parts REPLACE "(.+)" "$<TARGET_FILE:drydock_\\1>")
    set(parts -Wl,--start-group ${parts} -Wl,--end-group)
  endif()
  target_link_libraries(msrun PRIVATE drydock_options drydock::start ${parts})
  add_dependencies(msrun drydock_reports drydock_tracer)
  if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
    target_link_options(msrun PRIVATE LINKER:--gc-sections -static-libstdc++ -static-libgcc)
  endif()
  set_target_properties(msrun PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
  add_dependencies(msrun drydock)
  install(FILES docs/man/msrun.1 DESTINATION ${DRYDOCK_SHARE}/man/man1)
  install(FILES docs/man/msrun.1 DESTINATION ${DRYDOCK_SHARE}/man/man1 RENAME drydock.1)
  install(DIRECTORY docs/examples DESTINATION ${DRYDOCK_SHARE}/drydock PATTERN __pycache__ EXCLUDE PATTERN reports EXCLUDE)
  install(FILES cmake/completions/drydock.bash DESTINATION ${DRYDOCK_SHARE}/bash-completion/completions RENAME drydock)
  install(FILES cmake/completions/drydock.bash DESTINATION ${DRYDOCK_SHARE}/bash-completion/completions RENAME msrun)
  install(FILES cmake/completions/_drydock DESTINATION ${DRYDOCK_SHARE}/zsh/site-functions)
  install(FILES cmake/completions/drydock.fish DESTINATION ${DRYDOCK_SHARE}/fish/vendor_completions.d)
  install(FILES cmake/completions/drydock.fish DESTINATION ${DRYDOCK_SHARE}/fish/vendor_completions.d RENAME msrun.fish)
  if(NOT SKBUILD)
    install(TARGETS msrun RUNTIME DESTINATION ${DRYDOCK_BIN})
  endif()
  if(DRYDOCK_PORTABLE)
    drydock_portable(drydock)
    target_compile_definitions(drydock PRIVATE DRYDOCK_PORTABLE_PROGRAM)
    # As RPATH, not RUNPATH: it holds for what the libraries need in turn.
    target_link_options(drydock PRIVATE LINKER:--disable-new-dtags)
    set_target_properties(drydock PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/drydock")
    install(TARGETS drydock RUNTIME_DEPENDENCY_SET drydock_needs RUNTIME DESTINATION ${DRYDOCK_BIN})
    install(RUNTIME_DEPENDENCY_SET drydock_needs
      PRE_EXCLUDE_REGEXES "^lib(c|m|gcc_s|stdc\\+\\+|pthread|dl|rt)\\.so" "^ld-linux" "^linux-vdso"
      ${DRYDOCK_LIBRARY_FOLDERS}
      LIBRARY DESTINATION ${DRYDOCK_LIB})
    # A wheel holds no links: each library once, under the name that is asked for.
    install(CODE "file(GLOB links \"${DRYDOCK_LIB}/lib*.so.*\")
      foreach(link \${links})
        if(IS_SYMLINK \${link})
          file(REAL_PATH \${link} file)
          file(RENAME \${file} \${link})
        endif()
      endforeach()")
  else()
    install(TARGETS drydock RUNTIME DESTINATION ${DRYDOCK_BIN})
  endif()
endif()
