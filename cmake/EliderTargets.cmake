# The functions by which each folder becomes a target. Sources are found by pattern, so a new file
# needs no change here; a folder without sources is a target without code.

# elider_layer(base DEPENDS ... [SOURCES ...]): the library elider_<name> of this folder's *.cc, all levels deep, and
# the test program <name>_test of its *_test.cc. A subfolder with a CMakeLists.txt of its own is not part
# of either, and neither are the files of engines and of what they share (instances/, policies/). DEPENDS are the layers below that it may
# include. SOURCES are other files that belong to this layer. Files of sync policies that no engine uses are left out
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
    # The files of a sync policy take long one by one. Most of what they cost is the headers, so builds for tests compile those of a
    # policy together, and all builds do so with the laboratory's. What is shipped of the product was optimized file by file.
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

# elider_headers_alone(target folder header ...): these headers of the target, as they are named from the folder, each compile
# alone with what the target's users see: the target all_verify_interface_header_sets tries it, and is part of no other.
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

# elider_compile_together(group file ...): with ELIDER_UNITY these files of this folder are compiled as one, where their target's
# UNITY_BUILD_MODE is GROUP; but those that have options or definitions of their own.
function(elider_compile_together group)
  set_source_files_properties(${ARGN} PROPERTIES UNITY_GROUP "${group}")
endfunction()

# elider_for_any_processor(file.cc ...): these files of this folder use no instructions but those that every x86-64 processor
# has, whatever the others use: the later -march counts.
function(elider_for_any_processor)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS -march=x86-64)
  endif()
endfunction()

# elider_test(name SOURCES ... LIBRARIES ...): a GoogleTest program, one test of ctest: a process for each of
# its cases would cost more than most cases do. What became of the cases stands in googletest/<name>.xml. SHARDS n: n tests,
# <name>.1 and so on, each of which runs every n-th of its cases. UNOPTIMIZED: in the dev preset its own files are compiled without
# optimization (ELIDER_QUICKLY): it is the libraries that run.
function(elider_test name)
  cmake_parse_arguments(test "UNOPTIMIZED" "SHARDS" "SOURCES;LIBRARIES;ARGUMENTS" ${ARGN})
  add_executable(${name} ${test_SOURCES})
  target_link_libraries(${name} PRIVATE ${test_LIBRARIES} elider_flags GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(${name} PRIVATE "${PROJECT_SOURCE_DIR}")
  if(test_UNOPTIMIZED)
    target_compile_options(${name} PRIVATE ${ELIDER_QUICKLY})
  endif()
  # Most of a test's compile time goes to headers: eight files share it.
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

# elider_program(target SOURCE ...): an executable against the public library alone.
function(elider_program target)
  add_executable(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE elider elider_durable_heap elider_flags)
endfunction()

# elider_bench_library(name folder ...): a library of benchmarks, of the *.cc of these folders. Few of them are hot: the others ask,
# report, compare and judge. The release compiles those with -O1, in two thirds of the time.
function(elider_bench_library name)
  set(cold "/(common|history|durability|protocols|figures)/|_(cli|report|figures|facts)\\.cc$|/tpcc/(load|consistency|resume)\\.cc$")
  set(hot "/common/histogram\\.cc$")
  set(apart common tpcc history durability protocols compare htm heap)  # compiled together with none but their own
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

# elider_peer(NAME library file header library_file): what a benchmark compares with, where its Debian package is installed. Only
# the file that speaks to it depends on it.
function(elider_peer name target file header library)
  find_path(ELIDER_${name}_INCLUDE ${header})
  find_library(ELIDER_${name}_LIBRARY ${library})
  if(ELIDER_${name}_INCLUDE AND ELIDER_${name}_LIBRARY)
    target_link_libraries(${target} PRIVATE "${ELIDER_${name}_LIBRARY}")
    set_source_files_properties(${file} PROPERTIES COMPILE_DEFINITIONS ELIDER_HAVE_${name}=1)
  endif()
endfunction()
