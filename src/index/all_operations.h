// Includes all operations of all indexes, for the files that instantiate the indexes of a sync
// policy.
// Thread safety: see the indexes.
#pragma once

#include "index/art/art_batch.h"
#include "index/art/art_find.h"
#include "index/art/art_insert.h"
#include "index/art/art_remove.h"
#include "index/art/art_scan.h"
#include "index/art/art_verify.h"
#include "index/btree/btree_batch.h"
#include "index/btree/btree_find.h"
#include "index/btree/btree_insert.h"
#include "index/btree/btree_remove.h"
#include "index/btree/btree_scan.h"
#include "index/btree/btree_verify.h"
#include "index/hash/hash_grow.h"
#include "index/hash/hash_operations.h"
#include "index/hash/hash_read.h"
#include "index/hash/hash_verify.h"
#include "index/policies.h"
