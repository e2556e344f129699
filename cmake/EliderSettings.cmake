# How everything is compiled. What users of the library must compile with too stands on the targets.

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

find_package(Threads REQUIRED)

find_program(ELIDER_CCACHE ccache)
if(ELIDER_CCACHE AND PROJECT_IS_TOP_LEVEL AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${ELIDER_CCACHE}")
endif()

# Executables land in the build folder itself: build/release/elider.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}")
endif()

# Flags of all our own targets, and of nobody else's.
add_library(elider_flags INTERFACE)
# gcc 12 sees overlaps in std::string that are not there: -Wno-restrict.
target_compile_options(elider_flags INTERFACE -Wall -Wextra -Wno-restrict)
if(ELIDER_WERROR)
  target_compile_options(elider_flags INTERFACE -Werror)
endif()
if(ELIDER_NATIVE)
  target_compile_options(elider_flags INTERFACE -march=native)
endif()
if(ELIDER_SANITIZE)
  target_compile_options(elider_flags INTERFACE -fsanitize=${ELIDER_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(elider_flags INTERFACE -fsanitize=${ELIDER_SANITIZE})
  if(ELIDER_SANITIZE MATCHES "undefined")
    target_compile_options(elider_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

if(ELIDER_LTO)
  include(CheckIPOSupported)
  check_ipo_supported()
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
endif()

# On kernels with many random address bits the thread sanitizer's runtime of this compiler finds its
# shadow memory taken, now and then; so its programs run at fixed addresses where that is allowed.
if(ELIDER_SANITIZE MATCHES "thread" AND PROJECT_IS_TOP_LEVEL)
  find_program(ELIDER_SETARCH setarch)
  if(ELIDER_SETARCH)
    execute_process(COMMAND "${ELIDER_SETARCH}" -R true RESULT_VARIABLE setarch_result OUTPUT_QUIET ERROR_QUIET)
    if(setarch_result EQUAL 0)
      set(CMAKE_CROSSCOMPILING_EMULATOR "${ELIDER_SETARCH};-R")
    endif()
  endif()
endif()
