# Cross build for 64-bit Arm (the wheel for Kunpeng, Grace and others) with Debian's compiler; the libraries are unpacked by
# tests/packages/cross_sysroot.sh. What is headers only comes from the build machine.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_OBJDUMP aarch64-linux-gnu-objdump)
set(CMAKE_STRIP aarch64-linux-gnu-strip)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)

get_filename_component(drydock_sysroot ${CMAKE_CURRENT_LIST_DIR}/../build/sysroot-aarch64 ABSOLUTE)
set(CMAKE_FIND_ROOT_PATH ${drydock_sysroot})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE BOTH)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(ENV{PKG_CONFIG_LIBDIR} ${drydock_sysroot}/usr/lib/aarch64-linux-gnu/pkgconfig)
set(ENV{PKG_CONFIG_SYSROOT_DIR} ${drydock_sysroot})
# Where the linker and `install` find what those libraries need in turn.
set(DRYDOCK_LIBRARY_FOLDERS DIRECTORIES ${drydock_sysroot}/usr/lib/aarch64-linux-gnu ${drydock_sysroot}/lib/aarch64-linux-gnu)
add_link_options(LINKER:-rpath-link,${drydock_sysroot}/usr/lib/aarch64-linux-gnu
                 LINKER:-rpath-link,${drydock_sysroot}/lib/aarch64-linux-gnu)
