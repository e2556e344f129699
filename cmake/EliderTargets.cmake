# Functions that define a target for each folder. Sources are found by pattern, so a new file does not have to be listed. A folder
# without sources becomes a target without code.

# elider_layer(name DEPENDS ... [SOURCES ...]): defines the library elider_<name>, from the *.cc files of this folder and its
# subfolders, and the test program <name>_test, from the *_test.cc files. Neither contains the subfolders that have their own
# CMakeLists.txt, or the files of engines and of the code that engines share (instances/, policies/). DEPENDS are the lower layers that
# this layer may include. SOURCES are further files of this layer. Files of sync policies that no engine uses are left out
# (cmake/EliderEngines.cmake); the property ELIDER_LEFT_OUT_OF_<name> lists them.
function(elider_layer name)
  cmake_parse_arguments(layer "" "" "DEPENDS;SOURCES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.cc")
  file(GLOB_RECURSE apart CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*/CMakeLists.txt")
  foreach(file IN LISTS apart)
    get_filename_component(folder "${file}" DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  list(FILTER sources EXCLUDE REGEX "/(instances|policies)/")
  set(tests ${sources})
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(APPEND sources ${layer_SOURCES})
  elider_keep_compiled_policies(sources left_out)
  set_property(GLOBAL PROPERTY ELIDER_LEFT_OUT_OF_${name} "${left_out}")
  set(target elider_${name})
  file(GLOB_RECURSE headers CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/*.h")
  foreach(file IN LISTS apart)
    get_filename_component(folder "${file}" DIRECTORY)
    list(FILTER headers EXCLUDE REGEX "^${folder}/")
  endforeach()
  if(sources)
    # Compiling the files of a sync policy separately takes long, mostly because of their headers. Builds for tests therefore compile
    # the files of a policy together, and all builds do so for the laboratory's policies. In other builds, the product's files are
    # compiled separately.
    set(together "")
    foreach(file IN LISTS sources)
      elider_policy_of("${file}" policy)
      if(policy STREQUAL "" AND NOT file IN_LIST layer_SOURCES)
        list(APPEND together "${file}")
      elseif(policy AND (CMAKE_BUILD_TYPE STREQUAL "Dev" OR file IN_LIST layer_SOURCES))
        elider_compile_together(${name}_${policy} "${file}")
      endif()
    endforeach()
    elider_compile_together(${name} ${together})
    add_library(${target} STATIC ${sources})
    set_target_properties(${target} PROPERTIES UNITY_BUILD ${ELIDER_UNITY} UNITY_BUILD_MODE GROUP)
    target_link_libraries(${target} PUBLIC elider_headers ${layer_DEPENDS} PRIVATE elider_flags)
    target_include_directories(${target} PUBLIC "${PROJECT_SOURCE_DIR}/src")
    if(layer_SOURCES)
      target_include_directories(${target} PRIVATE "${PROJECT_SOURCE_DIR}")  # "lab/..."
    endif()
    target_compile_definitions(${target} PUBLIC ELIDER_TEST_POINTS=$<BOOL:${ELIDER_TEST_POINTS}>)
    elider_for_any_library(${target})
  else()
    add_library(${target} INTERFACE)
    target_link_libraries(${target} INTERFACE elider_headers ${layer_DEPENDS})
    target_include_directories(${target} INTERFACE "${PROJECT_SOURCE_DIR}/src")
    target_compile_definitions(${target} INTERFACE ELIDER_TEST_POINTS=$<BOOL:${ELIDER_TEST_POINTS}>)
  endif()
  elider_headers_alone(${target} "${PROJECT_SOURCE_DIR}/src" ${headers})
  if(ELIDER_BUILD_TESTS AND tests)
    elider_test(${name}_test SOURCES ${tests} LIBRARIES ${target})
  endif()
endfunction()

# elider_for_any_library(target): compiles the target such that the same object files serve the static library and shared libraries
# that hide the C++ functions, such as the C library. Hidden functions are called and inlined as in a program, and the model of
# thread-local variables makes an access one instruction, so the object files are not slower than those of a program. The shared
# C++ library exports all functions.
function(elider_for_any_library target)
  if(NOT BUILD_SHARED_LIBS AND NOT ELIDER_EMULATOR)
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
    target_compile_options(${target} PRIVATE -ftls-model=initial-exec)
  endif()
endfunction()

# elider_headers_alone(target folder header ...): makes the target all_verify_interface_header_sets check that each of these headers of
# the target compiles alone, with the settings of the target's users. Headers are named relative to the folder. No other target depends
# on that target.
function(elider_headers_alone target folder)
  if(NOT ELIDER_BUILD_TESTS)
    return()
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    set(scope INTERFACE)
  else()
    set(scope PUBLIC)
  endif()
  target_sources(${target} ${scope} FILE_SET HEADERS BASE_DIRS "${folder}" FILES ${ARGN})
  set_target_properties(${target} PROPERTIES VERIFY_INTERFACE_HEADER_SETS ON)
endfunction()

# elider_compile_together(group file ...): if ELIDER_UNITY is on and the UNITY_BUILD_MODE of the files' target is GROUP, these files of
# this folder are compiled as one, except for files with their own options or definitions.
function(elider_compile_together group)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP "${group}")
endfunction()

# elider_for_any_processor(file.cc ...): compiles these files of this folder for any x86-64 processor, even if the other files require
# a newer one. The last -march on the compiler's command line takes effect.
function(elider_for_any_processor)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -march=x86-64)
  endif()
endfunction()

# elider_test(name SOURCES ... LIBRARIES ... [SHARDS n] [UNOPTIMIZED]): defines a GoogleTest program that is one test of ctest. A
# separate process for each test case would take longer than most cases do. googletest/<name>.xml contains the results of the cases.
# SHARDS n: defines n tests, <name>.1 to <name>.n, each of which runs every n-th case. UNOPTIMIZED: the dev preset compiles the
# program's own files without optimization (ELIDER_QUICKLY), because most of its time is spent in the libraries.
function(elider_test name)
  cmake_parse_arguments(test "UNOPTIMIZED" "SHARDS" "SOURCES;LIBRARIES;ARGUMENTS" ${ARGN})
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} elider_flags GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  if(test_UNOPTIMIZED)
    target_compile_options(${name} PRIVATE ${ELIDER_QUICKLY})
  endif()
  # Most of the compile time of a test is spent on headers, so eight files are compiled together.
  set_target_properties(${name} PROPERTIES UNITY_BUILD ${ELIDER_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  set(tests ${name})
  if(test_SHARDS)
    list(TRANSFORM tests APPEND .1)
    foreach(shard RANGE 2 ${test_SHARDS})
      list(APPEND tests ${name}.${shard})
    endforeach()
  endif()
  foreach(test IN LISTS tests)
    add_test(NAME ${test} COMMAND ${name} --gtest_brief=1 "--gtest_output=xml:${PROJECT_BINARY_DIR}/googletest/${test}.xml"
                                  ${test_ARGUMENTS})
    set_tests_properties(${test} PROPERTIES TIMEOUT 3600)
    if(test_SHARDS)
      string(REGEX REPLACE ".*\\." "" shard ${test})
      math(EXPR shard "${shard} - 1")
      set_tests_properties(${test} PROPERTIES ENVIRONMENT "GTEST_TOTAL_SHARDS=${test_SHARDS};GTEST_SHARD_INDEX=${shard}")
    endif()
  endforeach()
endfunction()

# elider_program(target SOURCE ...): defines an executable that uses only the public library.
function(elider_program target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE elider elider_durable_heap elider_flags)
endfunction()

# elider_bench_library(name folder ...): defines a library of benchmarks from the *.cc files of these folders. Only a few files affect
# measurements. The others parse options, report, compare and check results. Release builds compile these with -O1, which takes a third
# less time.
function(elider_bench_library name)
  set(cold "/(common|history|durability|protocols|figures)/|_(cli|report|figures|facts)\\.cc$|/tpcc/(load|consistency|resume)\\.cc$")
  set(hot "/common/histogram\\.cc$")
  set(apart common tpcc history durability protocols compare htm heap)  # compiled only with files of the same folder
  foreach(folder IN LISTS ARGN)
    file(GLOB of_folder CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*.cc")
    foreach(file IN LISTS of_folder)
      if(file MATCHES "${cold}" AND NOT file MATCHES "${hot}")
        list(APPEND ${folder}_cold "${file}")
      else()
        list(APPEND ${folder}_hot "${file}")
      endif()
    endforeach()
    foreach(kind IN ITEMS hot cold)
      list(LENGTH ${folder}_${kind} files)
      if(folder IN_LIST apart AND files GREATER 2)
        elider_compile_together(bench_${folder} ${${folder}_${kind}})
      elseif(files GREATER 0)
        elider_compile_together(bench_small ${${folder}_${kind}})
      endif()
      list(APPEND ${kind}_sources ${${folder}_${kind}})
    endforeach()
  endforeach()
  add_library(${name}_cold OBJECT ${cold_sources})
  target_link_libraries(${name}_cold PRIVATE elider_tools elider_flags)
  target_compile_options(${name}_cold PRIVATE $<$<CONFIG:Release>:-O1>)
  add_library(${name} STATIC ${hot_sources} $<TARGET_OBJECTS:${name}_cold>)
  target_link_libraries(${name} PUBLIC elider_tools PRIVATE elider_flags)
  set_target_properties(${name} ${name}_cold PROPERTIES UNITY_BUILD "${ELIDER_UNITY}" UNITY_BUILD_MODE GROUP)
endfunction()

# elider_peer(NAME target file header library): links the target with a library that a benchmark compares with elider, if the
# library's Debian package is installed. Only `file` includes the library's header.
function(elider_peer name target file header library)
  find_path(ELIDER_${name}_INCLUDE ${header})
  find_library(ELIDER_${name}_LIBRARY ${library})
  if(ELIDER_${name}_INCLUDE AND ELIDER_${name}_LIBRARY)
    target_link_libraries(${target} PRIVATE "${ELIDER_${name}_LIBRARY}")
    set_source_files_properties(${file} PROPERTIES COMPILE_DEFINITIONS ELIDER_HAVE_${name}=1)
  endif()
endfunction()
