#include "bench/figures/papers.h"

namespace elider::bench::papers {

namespace {

constexpr Section kHyperSections[] = {
    {"2, 2.1", "hardware transactional memory; lock elision", "src/htm/rtm.h, src/htm/elide.h", ""},
    {"2.2", "what a region may hold, how long it may last", "src/htm/site.h, docs/lab/hardware-transactions.md", ""},
    {"3.1, 3.2", "latches and latch-free structures", "src/sync/exclusive.h, src/sync/optimistic.h",
     "no latch-free tree: optimistic latches in its place"},
    {"3.3", "elision with a bounded number of restarts, behind the interface of a latch", "src/htm/elide.h, src/sync/elided.h",
     "restarts are counted by cause, and a site that fails too often takes its lock at once"},
    {"4.1", "database transactions made of small regions; timestamps; the safe timestamp", "src/txn/timestamp/timestamps.h",
     "the safe timestamp is computed when a comparison asks for more than the last one. The descent is a region, and the timestamps "
     "and the copy of a row are another"},
    {"4.1, gap", "a scan, or a read of an absent key, leaves no timestamp, so that phantoms commit",
     "src/txn/timestamp/timestamp_claims.h, src/txn/read_write/repair.h",
     "the published rule lets two transactions commit that each scan an empty range and insert into the other's. Here they remember the "
     "leaves' versions, and the commit looks again"},
    {"4.2", "conflicts: roll back, set aside, run alone", "src/txn/timestamp/timestamp.h",
     "new bytes wait beside the row until the commit, so there is no undo log; a call of a group never runs alone"},
    {"4.3", "relaxations: older transactions that have ended are no conflict; no read timestamps",
     "src/txn/timestamp/timestamp_claims.h, protocol timestamp-validated", "phantoms as in 4.1"},
    {"5.1", "zones of insertion, scans over rows", "src/storage/zones.h, src/txn/zone_scan.h",
     "a worker has one zone, and not a random one for each transaction"},
    {"5.2", "the adaptive radix tree; declustered surrogate keys", "src/index/art, src/engine/sequences.h",
     "row ids are such keys in a radix tree (docs/tables.md), and no places in memory"},
    {"6", "serial, partitioned, two-phase locking", "src/txn/baseline",
     "serial and partitioned execution carry occ's detection of conflicts, so that open transactions and snapshots go on beside them"},
};

constexpr PaperFigure kHyperFigures[] = {
    {"1, 18, 20", "TPC-C over threads", "hyper-18", "elider bench protocols --figure hyper-18 --json FILE", "",
     "as many warehouses as threads; no Silo in this command (docs/groups.md and README.md have peers)"},
    {"18, 20", "TPC-C under timestamps, over how their sections are guarded", "hyper-20",
     "elider bench protocols --figure hyper-20 --json FILE", "", ""},
    {"2, 3, 4", "drawings: partitions, elision, caches", "", "docs/design/elision.md", "", ""},
    {"5", "aborts over random lines written", "hyper-5", "elider bench htm --figure hyper-5 --json FILE", "", ""},
    {"6", "aborts over the duration", "hyper-6", "elider bench htm --figure hyper-6 --json FILE", "", ""},
    {"8, 9", "lookups in a search tree, over restarts", "hyper-9", "elider bench htm --figure hyper-9 --json FILE", "",
     "a B+-tree of --records entries, and not 64 M"},
    {"10", "the code of elision with restarts", "", "src/htm/elide.h", "", ""},
    {"11", "inserts under several allocators", "hyper-11", "elider bench protocols --figure hyper-11 --json FILE", "",
     "one allocator, src/base/memory.h, in three ways of use, and neither malloc nor TCMalloc; keys rise, and are not random"},
    {"12", "one counter that all threads raise", "hyper-12", "elider bench protocols --figure hyper-12 --json FILE", "",
     "a row that transactions change, and not an atomic number"},
    {"13 to 17", "drawings: synchronization, transactions as regions, zones, surrogate keys", "",
     "docs/design/timestamp.md, docs/tables.md", "", ""},
    {"16", "zones", "zones", "elider bench protocols --figure zones --json FILE", "", "inserts alone; the paper counts aborted regions"},
    {"19", "TPC-C over partition crossing", "hyper-19", "elider bench protocols --figure hyper-19 --json FILE", "", ""},
    {"21", "aborted regions of TPC-C over restarts", "hyper-21", "elider bench htm --figure hyper-21 --json FILE", "",
     "no zones in TPC-C's tables"},
    {"section 6.1", "restarts of transactions", "restarts", "elider bench protocols --figure restarts --json FILE", "", ""},
    {"section 6.1", "warehouses", "warehouses", "elider bench protocols --figure warehouses --json FILE", "", ""},
    {"section 6.2", "what each part costs", "hyper-6.2", "elider bench protocols --figure hyper-6.2 --json FILE", "", ""},
};

constexpr Section kDbxSections[] = {
    {"1, 2.1", "hardware transactions, regions for short", "SyncPolicy::kElided, include/elider/options.h",
     "regions run under `--sync elided` alone; everything below that speaks of regions means that. The default, `automatic`, is optimistic "
     "latches: "
     "the same indexes and commits without regions"},
    {"2.1", "a region reads its fallback lock, and aborts while it is held", "src/htm/elide.h, src/htm/rtm.h",
     "regions of the indexes do so; those of reads and commits read the lock bits of their rows instead (src/txn/read_write/region.h)"},
    {"2.1, 2.2", "page faults abort a region", "src/htm/prefault.h, src/htm/code_pages.h",
     "the paper falls back after two aborts by the system (6.1). Here fresh memory is touched before a region uses it, and pages of code "
     "are read again "
     "after silent aborts"},
    {"2.2", "what a region may hold, and how long it may last", "docs/lab/hardware-transactions.md, `elider bench htm`",
     "measured on our processors: figures 1a to 1d"},
    {"3", "two layers, a store of keys and pointers and transactions above it; their regions never conflict", "src/index, src/txn", ""},
    {"3", "not a region for each whole transaction", "src/txn/baseline/whole_transaction.h, Protocol::kWholeTransaction",
     "built for comparison: figure 10"},
    {"3", "n workers on n cores; each runs one transaction at a time", "src/base/worker.h, src/engine/turns.h",
     "a thread may hold several open transactions; where there are more threads than one and a half times the processors, calls take turns "
     "(Options::threads_at_once)"},
    {"4", "an ordered or an unordered store for each table", "SchemaOf::key_index, include/elider/schema.h",
     "a radix tree, too (src/index/art)"},
    {"4", "keys of 8 bytes; get, insert, delete, range scans", "src/index/index.h, src/index/scan.h",
     "keys of secondary indexes have 16 bytes. The radix tree takes keys of up to 1024 bytes, which no table has yet"},
    {"4, ordered store", "a B+-tree; each operation is one region", "src/index/btree, src/sync/elided.h",
     "a split or an empty leaf takes further regions, a scan one for each leaf. A batched lookup takes one region for 16 keys; a number "
     "close behind the one before it takes one of its own, which begins in that one's leaf (src/index/btree/btree_batch.h)"},
    {"4, ordered store", "all operations of a store have one fallback lock", "src/sync/elided.h",
     "each index has its own; without regions each node has a latch of its own (src/sync/optimistic.h)"},
    {"4, ordered store", "nodes of 256 bytes on cache lines of their own, 15 children", "src/index/btree/btree_node.h",
     "leaves have 512 bytes and inner nodes 768: fewer misses, as measured (docs/indexes.md)"},
    {"4, ordered store", "the pointer to the root has a cache line of its own", "BTree::root_, src/index/btree/btree.h",
     "it has two, since the processor fetches lines in pairs"},
    {"4, ordered store", "fewer retries where the tree is tall", "Patience, src/htm/elide.h",
     "the bounds for conflicts and capacity are divided by the height of the B+-tree; the paper gives no rule"},
    {"4, ordered store", "no rebalancing after deletions", "src/index/btree/btree_remove.h", "an empty leaf is unlinked and reclaimed"},
    {"4, ordered store", "a skip list, found slower than the tree", "", "not built"},
    {"4, unordered store", "a chained hash table; each operation is one region", "src/index/hash/hash_operations.h",
     "an insert that needs a further bucket takes a second region; a batched lookup takes one for 16 keys"},
    {"4, unordered store", "an entry has a cache line of its own", "src/index/hash/hash_bucket.h",
     "a bucket is one line of three entries: most lookups touch one line, and little memory is wasted"},
    {"4, unordered store", "a global lock while the table grows; regions read it", "src/index/hash/hash_grow.h",
     "the table grows a bucket at a time, in regions of its own: nobody waits for a copy of the whole"},
    {"4, get-with-insert", "looks a key up, or inserts it; an old value is replaced and returned",
     "get_or_insert, src/index/btree/btree_insert.h, "
     "src/index/hash/hash_operations.h, src/index/art/art_insert.h",
     "it replaces nothing, and returns the row block that is there. Inserts use it, and changes of secondary indexes; reads of absent keys "
     "remember "
     "the version of the leaf or bucket instead (5.3)"},
    {"4, put", "on hash tables the record stands on the line of its entry, if it fits", "src/storage/inline_rows.h, SchemaOf::inline_rows",
     "only tables that ask for it, with rows of any size: row and key stand side by side outside the buckets, which point to the row as "
     "ever"},
    {"4, put", "on trees the transaction layer allocates the record and passes a pointer", "new_row, src/txn/table.h",
     "the same on every index"},
    {"5.1", "typed tables of named records", "include/elider/schema.h, src/storage/table.h",
     "with secondary indexes, kept by the same transactions (src/txn/read_write/secondary.h)"},
    {"5.1", "sequence number, snapshot number and pointer to older versions, for each record", "src/storage/record.h",
     "for each commit group of columns, so that transactions that touch different groups do not conflict; the sequence number's word also "
     "has "
     "bits for locked, absent and removed"},
    {"5.1", "a pointer to the data, which is kept apart", "src/storage/layout.h",
     "data below 2048 bytes (Options::block_threshold_bytes) stands beside the number, and a read saves a miss; rows of differing sizes "
     "are always "
     "kept apart. A commit's region writes the changed columns, where the paper's writes a pointer; of rows kept apart it sets the lock "
     "bits, and the blocks are swapped behind it"},
    {"5.2, algorithm 2", "a read finds the record and remembers it with its sequence number",
     "src/txn/read_write/read.h, src/txn/read_write/read_set.h", ""},
    {"5.2, algorithm 2", "a write is buffered; a transaction sees its own writes", "src/txn/read_write/write.h, src/txn/write_set.h", ""},
    {"5.2, algorithm 2", "a region around the number and the data, so that they belong together", "src/txn/record_region.h",
     "one region for all groups that are asked for, and where that gives up one for each. A read looks at the word before and after its "
     "copy instead: without regions, with `--copied-reads`, above 96 lines, and after a region gave up; so does an edit of a row of "
     "differing size. A row kept as one block is viewed where it is"},
    {"5.2, algorithm 1", "validation and writes in one region", "commit_at_once, src/txn/read_write/region.h",
     "three ways, which `bench tpcc` counts. Whole: all in the region. Lock bits: the region validates and sets the lock bits of what is "
     "written, and the writes follow outside; for more than 96 written lines, rows kept apart, and old versions for a reader. Locks, and "
     "no region: for more than 96 written groups or 2048 read lines, after a region gave up, where its site is off, after 16 regions in a "
     "row met a changed row, and where a read must be looked at again. On an Intel Xeon all NewOrders of the "
     "default mix are whole with one thread. With two 86% are; the others set lock bits, since a snapshot's reader needs old versions"},
    {"5.2", "no transaction of TPC-C exceeds what a region holds", "reach_of_region, src/txn/read_write/region.h",
     "Deliveries are not tried: ten orders and their lines are more than 96 written groups (ElisionPolicy::write_lines_max). They commit "
     "by "
     "locks"},
    {"5.2, algorithm 1", "a failed validation aborts the region", "settles, src/txn/read_write/region.h",
     "the region ends without a write, and counts as no abort of a region; the transaction fails or looks again, outside"},
    {"5.2, algorithm 1", "reads are validated before anything is written, since regions hold more reads than writes",
     "commit_at_once, src/txn/read_write/region.h", ""},
    {"5.2, algorithm 1", "a transaction that only reads commits in a region, too", "validate_in_region, src/txn/read_write/region.h",
     "one group that was read alone needs no validation. Above 2048 lines, or after the region gave up, it validates outside, without a "
     "lock"},
    {"5.2, algorithm 1", "a write of a removed record aborts", "await_word, src/txn/read_write/commit.h",
     "a row that was read and then written is checked once, with the writes (expected_by, src/txn/read_write/write.h)"},
    {"5.2, algorithm 1", "a write swaps the pointer and raises the sequence number by one; the old data waits for reclamation",
     "install, src/txn/install.h", "data in place is overwritten instead; blocks are swapped"},
    {"5.2, CommitLock", "one lock for all commits and reads that fall back", "src/txn/read_write/commit.h",
     "a commit takes the lock bits of the rows that it writes, and holds up only those who touch the same rows; a read takes none, and "
     "looks at the word twice"},
    {"5.2, proof", "why the result is serializable", "docs/design/commit.md, docs/isolation.md, tests/exhaustive",
     "strictly serializable. Models try every order of the steps of up to four transactions, and a checker by others judges histories of "
     "whole runs"},
    {"5.3, absent records", "a read of an absent key inserts an empty record", "track_absent, src/txn/read_write/tracking.h",
     "it remembers the version of the leaf or bucket, and writes nothing. If the version changed, the commit looks the key up again "
     "(src/txn/read_write/repair.h)"},
    {"5.3, absent records", "the empty record has sequence number 0", "TableBase::sequence_floor, src/storage/table.h",
     "a new row block begins above every number that its table has given up, so that a block unlinked and made again is not taken for "
     "the one before"},
    {"5.3, insert", "the record is in the store before the commit; its value is in the write set", "insert_row, src/txn/read_write/write.h",
     "the row block that is inserted is marked absent until the commit; after an abort it is unlinked and reclaimed (give_up_rows, "
     "src/txn/read_write/commit.h)"},
    {"5.3, delete", "a write that marks the record; it is unlinked later",
     "remove_row, src/txn/read_write/write.h; retire_rows, src/txn/read_write/commit.h",
     "the commit unlinks it at once where no snapshot needs it; else see section 5.5"},
    {"5.3, range query", "a scan remembers leaf versions; one that has changed aborts",
     "src/txn/read_write/scan.h, src/txn/read_write/tracking.h",
     "a changed leaf is scanned again; the commit goes on if the range has the same rows (src/txn/read_write/repair.h). Own inserts do not "
     "count (track_own_insert). A scan calls a function for each row; there is no iterator"},
    {"5.3, range query", "inserts, splits and deletions raise a leaf's version",
     "src/index/btree/btree_insert.h, src/index/btree/btree_remove.h",
     "the same; but not that of the leaf that takes over the range of one that is unlinked: who saw it empty remembers the unlinked one"},
    {"5.3, range query", "only where the store is ordered", "src/txn/refuse.h", "a scan of a hash table is refused with kUnsupported"},
    {"5.4", "transactions that only read validate nothing and never abort", "Database::run_read_only, src/txn/snapshot_transaction.h", ""},
    {"5.4, property 1", "a reader sees the newest snapshot, since it raises the number itself", "src/storage/snapshots.h",
     "the same: all that was committed before the reader began is in it"},
    {"5.4, property 2", "versions are made only where a reader is in progress", "needs_version, src/txn/install.h",
     "fewer: only where the reader's number is not below that of the row's present version"},
    {"5.4", "a reader takes the snapshot number S and raises it; commits read it", "src/storage/snapshots.h",
     "all writes of a commit have the number that it read"},
    {"5.4", "a reader reads the newest version that is not newer than its number; its regions are of fixed size",
     "src/txn/snapshot_transaction.h, read_groups_at_in_region, src/txn/record_region.h",
     "a region for each row; of an older version it takes the pointer, and the version is read outside. No region, but looks before and "
     "after the copy: with `--copied-reads`, above 96 lines, at a locked row, after a region gave up, for a row kept as one block, and in "
     "scans of zoned tables"},
    {"5.4, algorithm 1", "a commit keeps the old version where the record's number is not S", "needs_version, src/txn/install.h",
     "only where a reader is there who may need it: readers announce themselves. The memory is taken outside the region"},
    {"5.4, gap", "a reader that begins while a commit is between its validation and its last write",
     "src/storage/snapshots.h, docs/design/snapshots.md",
     "the paper leaves it open. Here the reader announces itself before it takes its number. A commit by locks holds them before it reads "
     "S, and the reader "
     "waits at locked rows; a commit in a region reads S and the announcements, and writes, at one instant"},
    {"5.4, gap", "a key that is deleted and inserted again within one snapshot",
     "src/storage/table.h, src/txn/install.h, src/txn/reclaim.h",
     "the paper leaves it open. Here the insert takes the row block that is there, and keeps a version that says absent "
     "(allocate_versions); after "
     "the block is unlinked, a new one begins with a larger sequence number (TableBase::sequence_floor)"},
    {"5.5", "a garbage list for each core", "src/base/retired_list.h, src/base/worker.h",
     "a worker looks at its list after 4096 transactions, 1024 objects, or 256 that are still linked, or 512 KiB; sooner where "
     "memory is "
     "short"},
    {"5.5", "a grace period: every thread has finished a transaction, by a vector of their counts", "src/base/worker.h",
     "by epochs: a worker announces the epoch as it begins, and three epochs later what was retired is reclaimed"},
    {"5.5, old data", "old versions and removed records are reclaimed a grace period later", "src/txn/install.h, src/txn/reclaim.h",
     "a commit that makes an old version retires it at once"},
    {"5.5, unlinking", "a deleted record is unlinked and marked removed after a grace period, and freed after another",
     "src/txn/reclaim.h, src/txn/late_unlinks.h",
     "unlinked sooner where no reader needs it, so that scans do not pass rows that wait; a row of a table with secondary indexes is "
     "freed one grace period later than others. It is marked removed before it leaves the indexes, and not after"},
    {"5.6", "a commit's key, value and sequence number go to the worker's buffer, and with the buffer its snapshot number",
     "src/txn/log_entry.h, src/log/buffer.h",
     "the columns that were written, not the whole row; or what was added. Each commit's record has its snapshot number"},
    {"5.6", "a buffer goes to its logger when it is full or a snapshot begins", "src/log/log.h",
     "the logger takes what there is every Options::flush_interval_us, at once where somebody waits, and when a buffer is half full"},
    {"5.6", "loggers find the newest durable snapshot", "close_numbers and durable_now, src/log/log.cc; docs/design/group-commit.md",
     "the loggers raise S, which otherwise only readers do. In the paper readers do and, every 40 ms, a thread (7.6)"},
    {"5.6", "a client has its answer when its snapshot is durable", "Durability, include/elider/options.h; Database::when_durable",
     "kGroup waits so; kAsync answers at once; when_durable tells later"},
    {"5.6, recovery", "the newest snapshot in the log; of each record the newest change",
     "src/recovery/replay.h, src/recovery/changed_rows.h",
     "up to the last number that all loggers have. A row gets all its changes in order, as each may have only some columns. In several "
     "threads, by key, "
     "a window of numbers at a time"},
    {"5.6", "the log grows for ever", "src/recovery/checkpoint.h, docs/durability.md", "checkpoints cut it"},
    {"6", "about 2800 lines of C++", "src, include", "42,000, with all that the paper leaves out and with the other four papers"},
    {"6", "stored procedures of gets and puts, all parameters given", "Database::call, include/elider/procedure.h; Database::run",
     "transactions that the program begins and commits itself, too (Database::begin). No SQL, as there"},
    {"6.1", "the cause of an abort, from its status word", "decode, src/htm/status.h",
     "capacity before conflict; a bare retry hint counts as a conflict, no bit at all as the system. Explicit aborts are not retried, but "
     "for those "
     "at a held lock"},
    {"6.1", "bounds of retries by cause: 2 system, 10 capacity, 100 conflicts", "include/elider/elision.h, src/htm/elide.h",
     "the third abort by the system takes the lock, where the paper's second does. The numbers are the paper's, which took them from its "
     "figures 1a and 1d; ours differ, but few "
     "regions of TPC-C abort here, and other bounds change little (docs/lab/hardware-transactions.md). A thread whose last 256 sections "
     "of a site were regions in fewer than half of the cases takes the lock there for a while (src/htm/site.h)"},
    {"6.1", "rejected: the lock after the first abort", "ElisionPolicy, include/elider/elision.h",
     "bounds of 0 are that: `--aborts-max 0`; figure hyper-9 has it as 0 restarts"},
    {"6.1", "a region begins when its lock is free", "wait_until_free, src/htm/elide.h",
     "the wait comes before the region and is no abort. A region that finds the lock held all the same aborts and waits again, up to 1000 "
     "times; a lock that is taken later is a conflict. After 400 microseconds in one wait the thread queues for the lock. A commit's "
     "region has no lock, but the lock bits of its rows: it waits for them before it begins, 5 to 10 ms at the most (await_word). A read "
     "that meets one copies the row outside"},
    {"6.2", "a buffer of one node, for each transaction and table, so that get and put of one key are one descent",
     "src/txn/hints.h, src/txn/hot_rows.h",
     "a transaction keeps the leaf of its last operation on each B+-tree, and uses it for every key of that leaf's range, where the paper "
     "compares the key; scans, batches and removals from the tree do not use it. An update by a view of the row needs no lookup. A worker "
     "also keeps rows from one transaction to the next. `bench tpcc --count-lookups` counts the hits"},
    {"7.1", "YCSB: 80% read and 20% read and write, values of 100 bytes, keys of 64 bits", "bench/ycsb",
     "other mixes, sizes and distributions by options"},
    {"7.1", "TPC-C: B+-trees, keys of 64 bits, 5 million transactions, no network, no log", "bench/tpcc",
     "without options `elider bench tpcc` is ours: hash tables beside trees, commit groups, additions. `--index btree --no-groups "
     "--no-additions` is the paper's. "
     "A run lasts so many seconds; last names are a hash of 44 bits in their key"},
    {"7.1", "SSMalloc", "src/base/memory.h",
     "our own, with memory for each worker, on huge pages; figure 15 has it against one lock for all"},
    {"7.1", "two loggers, a disk each", "Options::log_threads, Options::data_folders",
     "ours is one by default, and our figures 16 and 17 have one"},
    {"7.2", "get copies nothing", "view_block, src/txn/read_write/read.h",
     "only for rows of one group that is kept as a block; others are copied"},
    {"7.3.2", "a spinlock in place of the transaction layer's regions", "src/txn/baseline/spinlock.h, Protocol::kSpinlock",
     "each commit and each read of a row holds it; lock bits of rows are set besides"},
    {"7.3.2", "each thread has a warehouse", "bench/tpcc/input.h", "where there are fewer threads, each draws among its own"},
    {"7.4.1", "hash tables but for order lines, new orders and secondary indexes", "bench/tpcc/schema.cc, `--index mixed`",
     "orders and history are trees, too: their keys only grow, and that is cheap in a tree"},
};

constexpr PaperFigure kDbxFigures[] = {
    {"1a", "aborts over lines read and written in order", "dbx-1a", "elider bench htm --figure dbx-1a --json FILE", "", ""},
    {"1b", "the same, on all hardware threads", "dbx-1b", "elider bench htm --figure dbx-1b --json FILE", "", ""},
    {"1c", "reads before writes, and after them", "dbx-1c", "elider bench htm --figure dbx-1c --json FILE", "", ""},
    {"1d", "aborts over the duration", "dbx-1d", "elider bench htm --figure dbx-1d --json FILE", "", ""},
    {"2, 3, 4", "drawings: architecture, dependencies, deletion", "", "docs/architecture.md, docs/design", "", ""},
    {"5", "TPC-C beside Silo; without the commit's regions; copied reads", "dbx-5", "elider bench protocols --figure dbx-5 --json FILE", "",
     "The line of regions whose rows are apart is nearest to DBX, but its commits set lock bits in their region and swap the pointers "
     "behind it. The line \"regions\" is nearest to the paper's DBX', which copies what it reads, as we do, but whose keys are byte "
     "streams. "
     "The paper's line without regions in the transaction layer leaves out all synchronization there, so its results are wrong. Ours has "
     "row locks, and "
     "regions for reads"},
    {"6", "the B+-tree alone, 80% get and 20% put; 50% get, 25% insert, 25% put", "dbx-6",
     "elider bench protocols --figure dbx-6 --json FILE", "",
     "README.md and docs/indexes.md have peers; Masstree is to be run beside it. A put finds its key and writes nothing in the tree, since "
     "rows are "
     "written by transactions. One spinlock: each operation holds it, readers too. `bench index` has radix trees and `--sync "
     "single-threaded`, too. No Masstree under regions"},
    {"section 6.2", "the node buffer: its hits, and what it is worth", "dbx-6.2", "elider bench protocols --figure dbx-6.2 --json FILE", "",
     ""},
    {"7", "the hash table alone, 80% get and 20% put", "dbx-7", "elider bench protocols --figure dbx-7 --json FILE", "",
     "the lock-free table is liburcu's, not one made from the same code, with a bucket for each key from the beginning, and a node "
     "of its own for each key. Puts and the spinlock as in figure 6"},
    {"8", "TPC-C over threads, and with a spinlock", "dbx-8", "elider bench protocols --figure dbx-8 --json FILE", "",
     "the paper has up to 32 threads (`--threads 32`), and Silo, which is to be run beside it. Spinlocks: the trees, too, have one each"},
    {"9", "aborted regions, locks a transaction", "dbx-9", "elider bench htm --figure dbx-9 --json FILE", "",
     "the paper's TPC-C; `--index mixed --groups --additions` gives ours. Nearly all locks are Deliveries', which are too large to try "
     "(5.2)"},
    {"10", "whole transactions as regions", "dbx-10", "elider bench htm --figure dbx-10 --json FILE", "",
     "Of whole transactions the share of attempts that took the lock; of occ the locks taken for 100 commits, those of indexes too. Our "
     "updates wait in a buffer until the region's end, so that a region writes more lines. Throughput is in the document"},
    {"11", "small transactions beside the bare tree", "dbx-11", "elider bench protocols --figure dbx-11 --json FILE", "",
     "the paper's values have 100 bytes. Ours stand beside the number, and a transaction of one read commits without a region, which is "
     "much of what the paper measures"},
    {"12", "NewOrder on hash tables, B+-trees, and both", "dbx-12", "elider bench protocols --figure dbx-12 --json FILE", "", ""},
    {"13", "TPC-C on B+-trees, and on hash tables beside them", "dbx-13", "elider bench protocols --figure dbx-13 --json FILE", "", ""},
    {"14", "NewOrder and StockLevel, with and without snapshots", "dbx-14", "elider bench protocols --figure dbx-14 --json FILE", "", ""},
    {"15", "factors: allocator, regions, fallback, node buffer, no reclamation, no snapshots", "dbx-15",
     "elider bench htm --figure dbx-15 --json FILE", "",
     "where no regions run: `bench tpcc` with `--no-own-allocators`, `--no-hints`, `--no-reclamation` and `--no-snapshot "
     "order_status,stock_level`"},
    {"16", "TPC-C with durability", "dbx-16", "elider bench protocols --figure dbx-16 --json FILE", "", ""},
    {"17", "latency until durable", "dbx-17", "elider bench protocols --figure dbx-17 --json FILE", "38 to 63 ms, 1 to 8 threads",
     "the paper's snapshots are 40 ms apart; our groups follow one another as fast as the disk takes them"},
};

constexpr Section kYdbSections[] = {
    {"background", "one bound of retries for all causes, then a lock for all", "src/htm/elide.h",
     "DBX's bounds by cause. `--aborts-max N` sets N for each cause, each counted by itself, and ElisionPolicy::less_for_tall_trees off "
     "makes it the same for all "
     "heights"},
    {"design, storage", "puts and gets of a B+-tree, a region each; any structure would do; keys of 8 bytes",
     "src/index/btree, src/index/index.h", "hash tables and radix trees, too. Transactions are a layer above, as in DBX"},
    {"design, transactions", "data and version are read in one region", "src/txn/record_region.h", ""},
    {"design, transactions", "read set and write set; a commit in one region validates versions, looks for deleted rows, and writes",
     "src/txn/read_write",
     "as DBX's section 5.2 here; after a failed validation the region commits, with nothing written. yDB's code returns within it, never "
     "fills its "
     "write set, and cuts keys to 32 bits"},
    {"evaluation", "a record is a version and a pointer to the data", "src/storage/layout.h",
     "data below a bound stands beside its version; rows of differing sizes, and with `--block-threshold 8` all of 8 bytes and more, are "
     "kept apart"},
    {"evaluation", "nodes of 256 bytes, 15 children", "src/index/btree/btree_node.h", "512 and 768 bytes (docs/indexes.md)"},
    {"evaluation", "stored procedures; insert, read and update", "include/elider/procedure.h, include/elider/transaction.h", ""},
    {"evaluation", "deletions mark the row, and nothing is reclaimed; no scans; no log",
     "src/txn/reclaim.h, src/txn/read_write/scan.h, src/log", "elider reclaims, scans and logs"},
    {"evaluation", "YCSB: 80% read, 20% read and write, 10 M records of 8 bytes, by function calls, loaded before",
     "bench/ycsb, bench/protocols/ydb_study.cc", ""},
    {"evaluation", "reads run and commit as other transactions do; on snapshots they did not gain what DBX reports", "bench/ycsb",
     "the same; a read of one row needs no validation. `--snapshot-reads` gives them snapshots"},
};

constexpr PaperFigure kYdbFigures[] = {
    {"table", "throughput over 1 to 8 threads, with 3 retries and with 100", "ydb", "elider bench protocols --figure ydb --json FILE",
     "with 100 retries 1.5 M, 2.9 M, 5.5 M, 6.4 M and 7.2 M a second with 1, 2, 4, 6 and 8 threads on 4 cores; with 3 it scales poorly "
     "beyond 4",
     "`bench elision --value-bytes 8 --records 10000000 --threads 1,2,4,8 --bounds 3,100` gives aborts, too. Only the lines with 3 and 100 "
     "retries ignore the height of the tree and never shut a site off; values stand beside their version"},
};

constexpr Section kDbxTcSections[] = {
    {"2.1", "hardware transactional memory", "src/htm", ""},
    {"2.2", "whole transactions as regions", "src/txn/baseline/whole_transaction.h, protocol whole-transaction",
     "one lock of the database is elided"},
    {"3.1", "the chopping graph, SC-cycles, merging", "src/txn/chopping, include/elider/chopping.h, docs/chopping.md",
     "conflicts by commit group, and not by table alone; rows that hang on a claimed row; where a procedure may roll back"},
    {"3.2", "readers on snapshots", "src/txn/chopping/execution.cc",
     "a reader takes the newest snapshot and waits for the calls that it holds; one at a HeldSnapshot waits for none"},
    {"3.2", "deferred execution: publish and subscribe, with a barrier", "src/txn/chopping/publications.h",
     "each publisher applies its own, before it answers; no epochs; who saw its core answers no earlier"},
    {"3.2, gap", "deferred execution is serializable, but not strictly", "src/txn/chopping/publications.h",
     "the paper does not say so. Here a call that may have seen a publisher's core answers when that publisher has ended; "
     "ChoppedOptions::answers_at_once is the paper's"},
    {"3.1, gap", "what a rollback does to pieces that others have seen", "src/txn/chopping/analyze.cc",
     "the paper does not discuss it. A procedure may roll back up to its first piece that writes"},
    {"3.3", "static tables; a cache of fresh rows; fallback locks a partition", "src/txn/chopping/analyze.cc",
     "static tables are read ahead of the region; a cache was tried and was no faster; a fallback takes its rows' lock bits"},
    {"4.2, 4.3", "snapshot numbers; taken in the conflicting piece", "src/storage/snapshots.h, src/txn/chopping/piece_transaction.h",
     "what writes ahead of the conflicting piece is one with it, and not kept in a buffer"},
    {"4.4", "commutative operations, redone on newer versions", "Transaction::add, src/txn/chopping/piece_transaction.h",
     "who adds waits for the calls of smaller numbers, so that there are no newer versions"},
    {"4.4, gap", "algorithm 1, line 13: where every version is newer, the operation is applied to the oldest twice",
     "src/txn/chopping/piece_transaction.h", "cannot happen: there are no newer versions"},
    {"4.2, gap", "an idle worker's snapshot number holds readers back", "src/storage/snapshots.h",
     "workers have no numbers of their own; those that are under way announce theirs"},
    {"5", "column groups; durability", "src/storage/layout.h, src/log", "every group is versioned"},
};

constexpr PaperFigure kDbxTcFigures[] = {
    {"1a", "aborts over lines read and written in order", "dbx-1a", "elider bench htm --figure dbx-1a --json FILE", "", ""},
    {"1b", "aborts over random lines written", "dbx-tc-1b", "elider bench htm --figure dbx-tc-1b --json FILE", "", ""},
    {"1c", "TPC-C with whole transactions as regions, by contention", "dbx-tc-1c", "elider bench htm --figure dbx-tc-1c --json FILE", "",
     ""},
    {"table 1", "bytes that each transaction of TPC-C reads and writes", "dbx-tc-table-1",
     "elider bench htm --htm emulated --figure dbx-tc-table-1 --json FILE",
     "read and written: NewOrder 7864, 1938; Delivery 13567, 4178; Payment 2240, 656; StockLevel 40101, 1341; OrderStatus 2241, 469",
     "needs the preset emulator. Ours are three to six times as many read, and eight and more times as many written: whole cache "
     "lines of 64 bytes, the lines of indexes, and those in which a transaction keeps what it has read and is to write until its region "
     "ends"},
    {"2 to 9", "drawings: chopping, deferral, snapshots, records", "", "docs/chopping.md", "", ""},
    {"10", "the chopping graph of TPC-C, with reordering and commuting operations", "",
     "`elider chopping report tpcc --without snapshots,tokens,deferring --granularity table`, `--format dot` draws it",
     "very few transactions are cut", "here: new_order and payment in 2 pieces, all others whole"},
    {"11", "the same in DBX-TC", "", "`elider chopping report tpcc`, `--format dot` draws it", "one conflicting piece each",
     "here: new_order in 5 pieces, payment in 7, delivery in 4, its customers deferred"},
    {"12", "TPC-C in pieces and whole, by contention", "dbx-tc-12", "elider bench protocols --figure dbx-tc-12 --json FILE", "",
     "no medium contention: two threads a warehouse. docs/chopping.md has longer runs, in turns"},
    {"13a", "TPC-C in pieces, with and without snapshots", "dbx-tc-13a", "elider bench protocols --figure dbx-tc-13a --json FILE", "", ""},
    {"13b", "TPC-C in pieces and whole, with and without a log", "dbx-tc-13b", "elider bench protocols --figure dbx-tc-13b --json FILE", "",
     ""},
    {"13c", "latency until durable", "dbx-tc-13c", "elider bench protocols --figure dbx-tc-13c --json FILE", "",
     "as DBX's figure 17: our groups follow one another as fast as the disk takes them"},
    {"14", "what each part is worth", "dbx-tc-14", "elider bench protocols --figure dbx-tc-14 --json FILE", "", ""},
    {"15", "articles", "dbx-tc-15", "elider bench protocols --figure dbx-tc-15 --json FILE", "", ""},
};

constexpr Section kDumboSections[] = {
    {"2.1", "suspending and resuming what a region tracks", "src/htm/suspension.h",
     "reads with TSXLDTRK; all accesses on the emulator alone, for POWER's instructions are not ours"},
    {"2.2", "durable hardware transactions (SPHT): redo logs, the durability wait",
     "src/heap/redo_log.h, HeapWait::kTotal in src/heap/slots.h", "SPHT's wait within our heap, for comparison"},
    {"2.3", "unlimited reads (SI-HTM): the isolation wait", "src/heap/slots.h, src/heap/regions.cc",
     "of update transactions under snapshot alone, where all tracking can be suspended"},
    {"3", "the heap mapped copy-on-write; logs written through", "src/heap/inside.cc, src/heap/medium.h",
     "files with fdatasync, too, and a delay"},
    {"3.1, algorithm 1", "active, inactive and non-durable; begin and commit", "src/heap/slots.h, tests/exhaustive/heap_model_test.cc",
     "both mends: the stamp before the isolation wait, active before the time. Moments are numbers of commits, not the processor's clock"},
    {"3.2.1", "the pruned durability wait; two arrays of states", "src/heap/slots.h", ""},
    {"3.2.2", "the log flushed while the isolation wait lasts", "src/heap/attempt.cc",
     "after the commit is published: readers see it in its write set"},
    {"3.2.3", "partially ordered durability markers", "src/heap/redo_log.h",
     "a marker is written before the wait and says what it needs; recovery leaves out what lacks it"},
    {"3.3", "the array of markers, holes, the replayer", "src/heap/replayer.h",
     "the whole array is looked at, so no bound of holes is needed"},
    {"4.1", "Pisces as a baseline", "src/heap/attempt.h, HeapWait::kOwn in include/elider/heap.h",
     "our software protocol is after it: two versions, the second in the write set. kOwn has its order, too: durable before it is seen"},
    {"5", "processors that suspend loads alone", "src/heap/regions.h, tests/exhaustive/heap_regions_model_test.cc",
     "a region says the clock that it saw before it looked for readers: its number is taken after that"},
};

constexpr PaperFigure kDumboFigures[] = {
    {"1", "read-only transactions of TPC-C, order status, beside one thread of payments", "dumbo-1",
     "elider bench heap --figure dumbo-1 --json FILE", "", "docs/heap.md; `--study reads` has random words and plain memory"},
    {"2, 3, 5", "drawings: the waits of SPHT, SI-HTM and DUMBO", "", "docs/heap.md", "", ""},
    {"4", "95% order status and 5% payment, warehouses apart, of SPHT with SI-HTM's reads", "dumbo-4",
     "elider bench heap --figure dumbo-4 --json FILE", "", "ours in place of SPHT with SI-HTM, which is not built"},
    {"table 1", "what each transaction of TPC-C reads and writes", "dumbo-table-1", "elider bench heap --figure dumbo-table-1 --json FILE",
     "", "we count cache lines; the paper names no unit"},
    {"6", "order status and stock level alone", "dumbo-6", "elider bench heap --figure dumbo-6 --json FILE", "",
     "SPHT's readers run in regions there, and abort; ours never do. What differs between our lines is the wait"},
    {"7", "payment and delivery alone", "dumbo-7", "elider bench heap --figure dumbo-7 --json FILE", "",
     "`--study updates` has random words. No breakdown by step; the metrics have waits and aborts (docs/heap.md)"},
    {"8", "mixes of TPC-C: 85% that read, and the standard one", "dumbo-8", "elider bench heap --figure dumbo-8 --json FILE", "", ""},
    {"9", "replay", "dumbo-9", "elider bench heap --figure dumbo-9 --json FILE", "",
     "128 MiB, as in the paper; one thread wrote, and logs that are searched are not built. docs/heap.md says where the cycles go"},
};

constexpr Paper kPapers[] = {
    {"dbx", "DBX: Using Restricted Transactional Memory to Build a Scalable In-Memory Database, EuroSys 2014", kDbxSections, kDbxFigures},
    {"ydb", "yDB: a key-value store on RTM, after DBX", kYdbSections, kYdbFigures},
    {"hyper", "HyPer-HTM: Leis, Kemper, Neumann: Scaling HTM-Supported Database Transactions to Many Cores, TKDE 2015", kHyperSections,
     kHyperFigures},
    {"dbx-tc", "DBX-TC: transaction chopping on hardware transactions, the successor of DBX", kDbxTcSections, kDbxTcFigures},
    {"dumbo", "DUMBO: durable read-only transactions on hardware transactional memory", kDumboSections, kDumboFigures},
};

}  // namespace

std::span<const Paper> all() { return kPapers; }

}  // namespace elider::bench::papers
