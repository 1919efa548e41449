# Helpers shared by the whole build.

# A cached object must not depend on the folder of the checkout, and must be found although a header is precompiled.
find_program(DRYDOCK_CCACHE ccache)
if(DRYDOCK_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${DRYDOCK_CCACHE})
endif()

add_library(drydock_options INTERFACE)
target_compile_features(drydock_options INTERFACE cxx_std_20)
# Warnings are for who changes the code, and errors then; who builds it to use it sees none. (At -O2 gcc 12 warns of the
# standard library's own strings.)
if(DRYDOCK_WARNINGS)
  # Compiled together, a local name in one file is that of a constant in another one.
  target_compile_options(drydock_options INTERFACE -Wall -Wextra -Wpedantic -Wconversion $<$<NOT:$<BOOL:${DRYDOCK_UNITY}>>:-Wshadow>
    -Wnon-virtual-dtor -Woverloaded-virtual $<$<BOOL:${DRYDOCK_WERROR}>:-Werror>)
else()
  target_compile_options(drydock_options INTERFACE -w)
endif()
if(NOT CMAKE_BUILD_TYPE STREQUAL Debug)
  # So that a small program takes functions, not files, out of a library.
  target_compile_options(drydock_options INTERFACE -ffunction-sections -fdata-sections)
endif()
if(DRYDOCK_SANITIZE)
  target_compile_options(drydock_options INTERFACE -fsanitize=${DRYDOCK_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(drydock_options INTERFACE -fsanitize=${DRYDOCK_SANITIZE})
  if(DRYDOCK_SANITIZE MATCHES undefined)
    # Checks on every access that double the compile time; address finds what they would.
    target_compile_options(drydock_options INTERFACE
      -fno-sanitize=null,alignment,vptr,object-size,nonnull-attribute,returns-nonnull-attribute,pointer-overflow)
  endif()
endif()

# Four fifths of a compilation are the standard library's headers; they are read once. The option is off where a tool
# wants to see what each file includes itself.
option(DRYDOCK_PCH "Precompile the headers of the standard library" ON)
set(DRYDOCK_PCH_HEADERS <algorithm> <array> <cmath> <cstdint> <functional> <map> <memory> <numeric> <optional> <set> <span>
    <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector> <tl/expected.hpp>)
if(DRYDOCK_PCH AND CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  target_compile_options(drydock_options INTERFACE -fpch-preprocess)
elseif(DRYDOCK_PCH)
  target_compile_options(drydock_options INTERFACE "SHELL:-Xclang -fno-pch-timestamp")
endif()

# drydock_precompiled(name pic HEADERS...): library of precompiled headers, for code that is compiled as position independent
# (ON) or not (OFF); drydock_precompile(target name): `target` uses them.
function(drydock_precompiled name pic)
  if(NOT DRYDOCK_PCH)
    return()
  endif()
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/${name}.cc)
  set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ${pic})
  target_link_libraries(${name} PRIVATE drydock_options tl::expected)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
function(drydock_precompile target name)
  if(DRYDOCK_PCH)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endif()
endfunction()

# DRYDOCK_TRACE_PRELOAD: what an interpreter without the address sanitizer must load before the recorder
# that is built with it; empty without that sanitizer.
set(DRYDOCK_TRACE_PRELOAD "")
if(DRYDOCK_SANITIZE MATCHES address)
  set(runtimes libasan.so)
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    set(runtimes libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so)
  endif()
  foreach(library ${runtimes} libstdc++.so)
    execute_process(COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${library}
      OUTPUT_VARIABLE path OUTPUT_STRIP_TRAILING_WHITESPACE)
    string(JOIN " " DRYDOCK_TRACE_PRELOAD ${DRYDOCK_TRACE_PRELOAD} ${path})
  endforeach()
  if(CMAKE_CXX_COMPILER_ID STREQUAL Clang)
    # One runtime for the programs and for the recorder that Python loads.
    string(REGEX MATCH "^[^ ]+/" folder "${DRYDOCK_TRACE_PRELOAD}")
    target_link_options(drydock_options INTERFACE -shared-libasan -Wl,-rpath,${folder})
  endif()
endif()

# The files of a folder are compiled together, up to twelve at once: what they include is read, and what templates make of it
# is compiled, once for all of them; a build from nothing takes two thirds of the time. Who changes files every minute leaves it
# off. Names without linkage are then shared, so they are unique in a folder. (CMake's own UNITY_BUILD writes absolute paths,
# which no cache of another checkout knows.)
option(DRYDOCK_UNITY "Compile the sources of a folder together" OFF)
# What is compiled alone: what has definitions of its own, what the recorder takes out of a library, and where files name
# operands, or nodes of graph and cluster, alike.
set(DRYDOCK_ALONE "^(launcher/version.cc|base/executor.cc|sim/tracer/run_script.cc|reports/ir_.*|sim/fleet/.*|strategies/rules/attention/.*|build/.*|[.][.].*)$")
function(drydock_together result)
  set(alone)
  set(groups)
  set(folders)
  foreach(source ${ARGN})
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE path)
    if(NOT DRYDOCK_UNITY OR path MATCHES "${DRYDOCK_ALONE}")
      list(APPEND alone ${source})
      continue()
    endif()
    cmake_path(GET path PARENT_PATH folder)
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    # Counted on where a folder is cut between two libraries.
    get_property(base GLOBAL PROPERTY together_${folder})
    math(EXPR part "${count_${folder}} + 0")
    math(EXPR count_${folder} "${part} + 1")
    math(EXPR part "${part} / 12 + ${base} + 0")
    list(APPEND folders ${folder})
    list(APPEND groups ${folder}_${part})
    foreach(property COMPILE_OPTIONS SKIP_PRECOMPILE_HEADERS)  # alike in a folder
      get_source_file_property(${property}_${folder}_${part} ${source} ${property})
    endforeach()
    string(APPEND text_${folder}_${part} "#include \"${path}\"\n")
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder ${folders})
    get_property(base GLOBAL PROPERTY together_${folder})
    math(EXPR next "(${count_${folder}} + 11) / 12 + ${base} + 0")
    set_property(GLOBAL PROPERTY together_${folder} ${next})
  endforeach()
  list(REMOVE_DUPLICATES groups)
  foreach(group ${groups})
    file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/together/${group}.cc CONTENT "${text_${group}}" @ONLY)
    foreach(property COMPILE_OPTIONS SKIP_PRECOMPILE_HEADERS)
      if(${property}_${group})
        set_source_files_properties(${PROJECT_BINARY_DIR}/together/${group}.cc PROPERTIES ${property} "${${property}_${group}}")
      endif()
    endforeach()
    list(APPEND alone ${PROJECT_BINARY_DIR}/together/${group}.cc)
  endforeach()
  set(${result} ${alone} PARENT_SCOPE)
endfunction()

# drydock_library(name [SMALL] SRCS ... DEPS ... PRIVATE_DEPS ...): static library drydock_<name>, or an
# interface library while the folder has no sources yet. Alias drydock::<name>. SMALL: nothing in it is
# waited for, so that a portable build, which people download, optimizes it for size (half of it).
function(drydock_library name)
  cmake_parse_arguments(arg "SMALL" "" "SRCS;DEPS;PRIVATE_DEPS" ${ARGN})
  if(NOT arg_SRCS)
    add_library(drydock_${name} INTERFACE)
    target_link_libraries(drydock_${name} INTERFACE ${arg_DEPS})
    target_include_directories(drydock_${name} INTERFACE ${PROJECT_SOURCE_DIR})
  else()
    drydock_together(sources ${arg_SRCS})
    add_library(drydock_${name} STATIC ${sources})
    set_target_properties(drydock_${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
    target_include_directories(drydock_${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}>)
    target_link_libraries(drydock_${name} PUBLIC ${arg_DEPS}
      PRIVATE $<BUILD_INTERFACE:drydock_options> ${arg_PRIVATE_DEPS})
    if(arg_SMALL AND DRYDOCK_PORTABLE)
      target_compile_options(drydock_${name} PRIVATE -Os)
      drydock_precompile(drydock_${name} drydock_small_headers)
    else()
      drydock_precompile(drydock_${name} drydock_headers)
    endif()
  endif()
  add_library(drydock::${name} ALIAS drydock_${name})
endfunction()

# drydock_proto(name file): library drydock_<name>_proto of a .proto, warnings off for the output. Used
# by tests only: the product has its own codec, which the tests compare with protobuf's.
function(drydock_proto name file)
  add_library(drydock_${name}_proto STATIC ${PROJECT_SOURCE_DIR}/${file})
  set_target_properties(drydock_${name}_proto PROPERTIES POSITION_INDEPENDENT_CODE ON)
  target_compile_features(drydock_${name}_proto PUBLIC cxx_std_20)
  target_link_libraries(drydock_${name}_proto PUBLIC protobuf::libprotobuf)
  target_include_directories(drydock_${name}_proto SYSTEM PUBLIC ${PROJECT_BINARY_DIR}/proto)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/proto)
  protobuf_generate(TARGET drydock_${name}_proto LANGUAGE cpp
    IMPORT_DIRS ${PROJECT_SOURCE_DIR} PROTOC_OUT_DIR ${PROJECT_BINARY_DIR}/proto)
endfunction()

# drydock_tests(name SRCS ... DEPS ... [LABELS ...] [SHARDS n]): one GoogleTest program <name>_test, run as n
# ctest tests gtest.<name>.<i>. One process for many cases: starting one for each would take longer than most
# cases do. The cases are counted from the XML that each leaves in <build>/gtest (tests/tools/count_tests.py).
function(drydock_tests name)
  cmake_parse_arguments(arg "" "SHARDS" "SRCS;DEPS;LABELS" ${ARGN})
  if(NOT arg_SRCS)
    return()
  endif()
  if(NOT arg_SHARDS)
    set(arg_SHARDS 1)
  endif()
  add_executable(${name}_test ${arg_SRCS})
  target_link_libraries(${name}_test PRIVATE drydock_options ${arg_DEPS} drydock_source_dir GTest::gmock GTest::gtest_main)
  drydock_precompile(${name}_test drydock_test_headers)
  math(EXPR last "${arg_SHARDS} - 1")
  foreach(index RANGE ${last})
    set(test gtest.${name}.${index})
    add_test(NAME ${test} COMMAND ${name}_test --gtest_brief=1
      --gtest_output=xml:${PROJECT_BINARY_DIR}/gtest/${test}.xml)
    set_tests_properties(${test} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT 1200
      ENVIRONMENT "GTEST_TOTAL_SHARDS=${arg_SHARDS};GTEST_SHARD_INDEX=${index}")
  endforeach()
endfunction()

# Standalone asio comes without a CMake package.
find_path(DRYDOCK_ASIO_INCLUDE_DIR asio.hpp REQUIRED)
add_library(asio_headers INTERFACE)
add_library(asio::asio ALIAS asio_headers)
target_include_directories(asio_headers SYSTEM INTERFACE ${DRYDOCK_ASIO_INCLUDE_DIR})
target_compile_definitions(asio_headers INTERFACE ASIO_STANDALONE ASIO_NO_DEPRECATED)

# drydock_allocator(program): the program allocates with mimalloc, if that is there. What it compiles is small objects by the
# million, which the C library's allocator merges and searches for ever longer. Sanitizers bring their own.
find_library(DRYDOCK_MIMALLOC_LIBRARY mimalloc)
find_path(DRYDOCK_MIMALLOC_INCLUDE_DIR mimalloc.h)
function(drydock_allocator program)
  if(DRYDOCK_MIMALLOC_LIBRARY AND NOT DRYDOCK_SANITIZE)
    target_link_options(${program} PRIVATE LINKER:--no-as-needed ${DRYDOCK_MIMALLOC_LIBRARY} LINKER:--as-needed)
    if(DRYDOCK_MIMALLOC_INCLUDE_DIR)
      target_include_directories(${program} SYSTEM PRIVATE ${DRYDOCK_MIMALLOC_INCLUDE_DIR})
      target_compile_definitions(${program} PRIVATE DRYDOCK_MIMALLOC)
    endif()
  endif()
endfunction()

# drydock_embed(source file): `source` defines drydock::reports::PageTemplate(), the text of `file`.
function(drydock_embed source file)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${PROJECT_SOURCE_DIR}/${file} -DOUTPUT=${source} -P ${PROJECT_SOURCE_DIR}/cmake/embed.cmake
    DEPENDS ${PROJECT_SOURCE_DIR}/${file} ${PROJECT_SOURCE_DIR}/cmake/embed.cmake VERBATIM)
endfunction()
