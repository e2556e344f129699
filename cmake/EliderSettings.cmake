# The settings with which everything is compiled. Settings that users of the library need as well are properties of the targets.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

if(BUILD_SHARED_LIBS)
  set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # for the layers, which the shared library contains
endif()

find_package(Threads REQUIRED)

find_program(ELIDER_CCACHE ccache)
if(ELIDER_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ELIDER_CCACHE}")
endif()

# Executables are written to the build folder itself: build/release/elider.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endif()

# The flags of all targets of this project. Targets of other projects do not get them.
add_library(elider_flags INTERFACE)
# -Wno-restrict: gcc 12 warns about overlapping copies in std::string that do not exist.
target_compile_options(elider_flags INTERFACE -Wall -Wextra $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# gcc begins to collect garbage when its heap reaches 128 MiB, as it does for nearly every file of this project. With a threshold of
# 512 MiB, compiling a file takes about 8% less time and 0.2 GiB more memory.
target_compile_options(elider_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:SHELL:--param=ggc-min-heapsize=524288>)
if(ELIDER_WERROR)
  target_compile_options(elider_flags INTERFACE -Werror)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64" AND NOT ELIDER_NATIVE)
  # Uses only instructions that servers have had since 2009. SSE4.2 reduces the time of searches in the B+-tree by a third.
  target_compile_options(elider_flags INTERFACE $<$<CONFIG:Release,RelWithDebInfo,MinSizeRel>:-march=x86-64-v2>)
endif()
if(ELIDER_NATIVE)
  include(CheckCXXCompilerFlag)
  # Vectors have at most 128 bits, because after wider ones the compiler emits VZEROUPPER, which aborts a hardware transaction.
  target_compile_options(elider_flags INTERFACE -march=native)
  foreach(limit IN ITEMS prefer-vector-width move-max store-max)
    string(MAKE_C_IDENTIFIER "ELIDER_HAS_${limit}" known)
    check_cxx_compiler_flag(-m${limit}=128 ${known})
    if(${known})
      target_compile_options(elider_flags INTERFACE -m${limit}=128)
    endif()
  endforeach()
endif()
if(ELIDER_SANITIZE)
  # -Wno-maybe-uninitialized: in sanitizer builds, gcc 12 wrongly warns about what std::regex stores in a std::function.
  target_compile_options(elider_flags INTERFACE -fsanitize=${ELIDER_SANITIZE} -fno-omit-frame-pointer
                                                $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  target_link_options(elider_flags INTERFACE -fsanitize=${ELIDER_SANITIZE})
  if(ELIDER_SANITIZE MATCHES "undefined")
    target_compile_options(elider_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

# The emulator of hardware transactions sees memory accesses through the thread sanitizer's instrumentation, and its runtime replaces
# libtsan. The compiler would turn some calls, mainly copies of fixed sizes, into accesses without instrumentation. The options below
# prevent this, so that they remain calls.
if(ELIDER_EMULATOR)
  set(copies memcpy memmove memset memcmp)
  target_compile_definitions(elider_flags INTERFACE ELIDER_EMULATOR=1)
  target_compile_options(elider_flags INTERFACE -fsanitize=thread -Wno-tsan -fno-omit-frame-pointer -fno-ipa-reference
                                                -fno-tree-loop-distribute-patterns)
  foreach(function IN LISTS copies)
    target_compile_options(elider_flags INTERFACE -fno-builtin-${function} -D__builtin_${function}=${function})
  endforeach()
  target_compile_options(elider_flags INTERFACE "SHELL:-include cstring")
  set(calls malloc calloc realloc aligned_alloc posix_memalign free _Znwm _Znam _ZnwmSt11align_val_t _ZnamSt11align_val_t
            _ZdlPv _ZdaPv _ZdlPvm _ZdaPvm _ZdlPvmSt11align_val_t _ZdlPvSt11align_val_t __cxa_guard_acquire
            __cxa_allocate_exception write mmap munmap madvise pthread_exit
            _ZSt29_Rb_tree_insert_and_rebalancebPSt18_Rb_tree_node_baseS0_RS_
            _ZSt28_Rb_tree_rebalance_for_erasePSt18_Rb_tree_node_baseRS_ _ZNSt8__detail15_List_node_base7_M_hookEPS0_
            _ZNSt8__detail15_List_node_base9_M_unhookEv _ZNSt8__detail15_List_node_base11_M_transferEPS0_S1_)
  foreach(function IN LISTS copies calls)
    target_link_options(elider_flags INTERFACE "LINKER:--wrap=${function}")
  endforeach()
  target_link_libraries(elider_flags INTERFACE "$<LINK_LIBRARY:WHOLE_ARCHIVE,elider_emulator>")
endif()

# The options for code that only calls the libraries. The dev preset compiles it without optimization, which takes a third less time.
set(ELIDER_QUICKLY "")
if(CMAKE_BUILD_TYPE STREQUAL "Dev" AND NOT ELIDER_SANITIZE AND NOT ELIDER_EMULATOR)
  set(ELIDER_QUICKLY -O0)
endif()

if(ELIDER_LTO)
  include(CheckIPOSupported)
  check_ipo_supported()
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# On kernels that randomize many address bits, the address range of this compiler's thread sanitizer for its shadow memory is
# sometimes already in use. If the system allows it, programs with the thread sanitizer therefore run at fixed addresses.
if(ELIDER_SANITIZE MATCHES "thread" AND PROJECT_IS_TOP_LEVEL)
  find_program(ELIDER_SETARCH setarch)
  if(ELIDER_SETARCH)
    execute_process(COMMAND "${ELIDER_SETARCH}" -R true RESULT_VARIABLE setarch_result OUTPUT_QUIET ERROR_QUIET)
    if(setarch_result EQUAL 0)
      set(CMAKE_CROSSCOMPILING_EMULATOR "${ELIDER_SETARCH};-R")
    endif()
  endif()
endif()
