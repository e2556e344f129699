#include "bench/figures/papers.h"

namespace elider::bench::papers {

namespace {

constexpr Section kHyperSections[] = {
    {"2, 2.1", "hardware transactional memory; lock elision", "src/htm/rtm.h, src/htm/elide.h", ""},
    {"2.2", "what a region may hold, how long it may last", "src/htm/site.h, docs/hardware-transactions.md", ""},
    {"3.1, 3.2", "latches and latch-free structures", "src/sync/exclusive.h, src/sync/optimistic.h",
     "no latch-free tree: optimistic latches in its place"},
    {"3.3", "elision with a bounded number of restarts, behind the interface of a latch", "src/htm/elide.h, src/sync/elided.h",
     "restarts are counted by cause, and a site that fails too often takes its lock at once"},
    {"4.1", "database transactions made of small regions; timestamps; the safe timestamp", "src/txn/timestamp/timestamps.h",
     "the safe timestamp is computed when a comparison asks for more than the last one"},
    {"4.2", "conflicts: roll back, set aside, run alone", "src/txn/timestamp/timestamp.h",
     "new bytes wait beside the row until the commit, so there is no undo log; a claim and its copy are two steps; a call of a group never "
     "runs alone"},
    {"4.3", "relaxations: older transactions that have ended are no conflict; no read timestamps",
     "src/txn/timestamp/timestamp_claims.h, protocol timestamp-validated",
     "phantoms are found by the leaves' versions at the commit: the published rule lets them through"},
    {"5.1", "zones of insertion, scans over rows", "src/storage/zones.h, src/txn/zone_scan.h",
     "a worker has one zone, and not a random one for each transaction"},
    {"5.2", "the adaptive radix tree; declustered surrogate keys", "src/index/art, src/engine/sequences.h", ""},
    {"6", "serial, partitioned, two-phase locking", "src/txn/baseline",
     "serial and partitioned execution carry occ's detection of conflicts, so that open transactions and snapshots go on beside them"},
};

constexpr PaperFigure kHyperFigures[] = {
    {"1, 18, 20", "TPC-C over threads", "hyper-18", "elider bench protocols --figure hyper-18 --json FILE", "",
     "as many warehouses as threads; no Silo in this command (docs/groups.md and README.md have peers)"},
    {"2, 3, 4", "drawings: partitions, elision, caches", "", "docs/design/elision.md", "", ""},
    {"5", "aborts over random lines written", "hyper-5", "elider bench htm --figure hyper-5 --json FILE", "", ""},
    {"6", "aborts over the duration", "hyper-6", "elider bench htm --figure hyper-6 --json FILE", "", ""},
    {"8, 9", "lookups in a search tree, over restarts", "hyper-9", "elider bench htm --figure hyper-9 --json FILE", "",
     "a B+-tree of --records entries, and not 64 M"},
    {"10", "the code of elision with restarts", "", "src/htm/elide.h", "", ""},
    {"11", "inserts under several allocators", "", "src/base/memory.h is the only one; inserts over zones stand in its place",
     "only some allocators scale", ""},
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
    {"2.1", "RTM; the fallback lock, which every region reads", "src/htm/rtm.h, src/htm/elide.h", ""},
    {"2.2", "what a region may hold, and how long it may last", "src/htm/site.h, docs/hardware-transactions.md", ""},
    {"3", "two layers: a store of keys and pointers, transactions above it", "src/index, src/txn",
     "the layers share no region, as there; under `optimistic` neither has one"},
    {"4, ordered store",
     "a B+-tree whose operations are regions; nodes on lines of their own; fewer retries for taller trees; no rebalancing",
     "src/index/btree, Patience in src/htm/elide.h",
     "leaves of 512 bytes and inner nodes of 768, not 256: measured (docs/indexes.md); empty leaves are unlinked"},
    {"4, unordered store", "a chained hash table whose operations are regions; a lock for growing", "src/index/hash",
     "it grows a bucket at a time, without a lock of the whole"},
    {"4, get-with-insert", "look a key up, or insert it", "get_or_insert, src/index/btree/btree_insert.h, src/index/hash/hash_operations.h",
     "for inserts alone: a read of an absent key keeps the witness of its leaf or bucket, and writes nothing"},
    {"4, put", "the record on the line of its hash entry", "src/storage/inline_rows.h",
     "small rows beside their commit word, in all indexes"},
    {"5.1", "sequence number, snapshot number, previous version, pointer to the data", "src/storage/record.h, src/storage/layout.h",
     "one set for each commit group of columns; small groups hold their data in place"},
    {"5.2, algorithm 2", "reads into the read set, writes into the write set", "src/txn/occ/occ_read.h, src/txn/occ/occ_write.h", ""},
    {"5.2, algorithm 1", "validation and writes in one region", "src/txn/occ/occ_commit.h, src/txn/occ/occ_region.h",
     "a commit of more than 96 written lines, or beside a snapshot reader who needs an old version, sets lock bits in its region and "
     "writes outside; one of more than 96 rows takes the locks; without regions the locks. `bench tpcc` counts them (docs/hardware-transactions.md)"},
    {"5.2, CommitLock", "one lock of all commits that fall back", "src/txn/occ/occ_commit.h",
     "the lock bits of the rows written, so that a fallback holds up those alone that touch them"},
    {"5.3, absent records", "an empty record is inserted for a read", "src/txn/occ/occ_read.h",
     "the witness of the leaf or bucket instead"},
    {"5.3, insert, delete", "inserted with the commit; marked, and unlinked later", "src/txn/occ/occ_index.h, src/txn/late_unlinks.h",
     "unlinked by the commit itself where no snapshot needs the row"},
    {"5.3, range query", "leaf versions in the read set; a change aborts", "src/txn/occ/occ_scan.h, src/txn/occ/occ_repair.h",
     "a leaf that changed is read again, and is as it was if it holds the same rows"},
    {"5.4", "read-only transactions raise the snapshot number and read the newest snapshot",
     "src/storage/snapshots.h, src/txn/snapshot_transaction.h",
     "a reader that begins within a commit waits for it: the paper leaves that open"},
    {"5.5", "quiescent states; a vector of transaction counts; grace periods",
     "src/txn/reclaim.h, src/base/worker.h, src/base/retired_list.h", "one epoch of all workers instead of the vector"},
    {"5.6", "buffers of workers, loggers, the latest durable snapshot", "src/log, docs/durability.md",
     "commit numbers in place of snapshots order the log; checkpoints besides"},
    {"6", "stored procedures, one-shot requests", "include/elider/procedure.h", ""},
    {"6.1", "retries by the cause of the abort: 2, 10, 100", "include/elider/elision.h, src/htm/site.h",
     "the lock is taken at the third system abort, not the second; a site whose regions fail too often takes its lock at once"},
    {"6.2", "a buffer of one node a table and transaction", "src/txn/hints.h, src/txn/hot_rows.h",
     "a leaf within a transaction, and rows across transactions until the epoch moves; scans and removals use neither. "
     "`bench tpcc --count-lookups` counts its hits"},
    {"7.1", "TPC-C: eight threads, each the terminals of a warehouse", "bench/tpcc",
     "a thread draws its warehouse among those that it serves, and every district; `mixed` has orders and history in B+-trees, though "
     "nothing scans them: keys that only grow are cheap there. `--index btree --no-groups --no-additions` is nearest to the paper"},
};

constexpr PaperFigure kDbxFigures[] = {
    {"1a", "aborts over lines read and written in order", "dbx-1a", "elider bench htm --figure dbx-1a --json FILE", "", ""},
    {"1b", "the same, two threads a core", "dbx-1b", "elider bench htm --figure dbx-1b --json FILE", "", ""},
    {"1c", "reads before writes, and after them", "dbx-1c", "elider bench htm --figure dbx-1c --json FILE", "", ""},
    {"1d", "aborts over the duration", "dbx-1d", "elider bench htm --figure dbx-1d --json FILE", "", ""},
    {"2, 3, 4", "drawings: architecture, dependencies, deletion", "", "docs/architecture.md, docs/design", "", ""},
    {"5", "TPC-C beside Silo; without the commit's regions; copied reads", "dbx-5", "elider bench protocols --figure dbx-5 --json FILE", "",
     "DBX' copies what it reads and has byte streams in its tree: here reads are copied, and rows are kept apart, each by itself. Without "
     "regions in the transaction layer: row locks, which are right, where the paper leaves its out and is not"},
    {"6", "the B+-tree alone, YCSB", "dbx-6", "elider bench protocols --figure dbx-6 --json FILE", "",
     "no Masstree in this command; README.md and docs/indexes.md have peers"},
    {"6.2", "the node buffer: its hits, and what it is worth", "dbx-6.2", "elider bench protocols --figure dbx-6.2 --json FILE", "", ""},
    {"7", "the hash table alone, YCSB", "dbx-7", "elider bench protocols --figure dbx-7 --json FILE", "",
     "the lock-free table is liburcu's, which searches lists in the order of their hashes"},
    {"8", "TPC-C over threads, and with a spinlock", "dbx-8", "elider bench protocols --figure dbx-8 --json FILE", "", ""},
    {"9", "aborted regions, locks a transaction", "dbx-9", "elider bench htm --figure dbx-9 --json FILE", "",
     "the paper's TPC-C: `--index mixed --groups --additions` for ours"},
    {"10", "whole transactions as regions", "dbx-10", "elider bench htm --figure dbx-10 --json FILE", "",
     "updates are buffered until the region's end"},
    {"11", "small transactions beside the bare tree", "dbx-11", "elider bench protocols --figure dbx-11 --json FILE", "", ""},
    {"12", "NewOrder on hash tables, B+-trees, and both", "dbx-12", "elider bench protocols --figure dbx-12 --json FILE", "", ""},
    {"13", "TPC-C on B+-trees, and on hash tables beside them", "dbx-13", "elider bench protocols --figure dbx-13 --json FILE", "", ""},
    {"14", "NewOrder and StockLevel, with and without snapshots", "dbx-14", "elider bench protocols --figure dbx-14 --json FILE", "", ""},
    {"15", "factors: allocator, regions, fallback, node buffer, no reclamation, no snapshots", "dbx-15",
     "elider bench htm --figure dbx-15 --json FILE", "",
     "without regions `bench tpcc` with `--no-own-allocators`, `--no-hints`, `--no-reclamation` and `--no-snapshot order_status,stock_level`"},
    {"16", "TPC-C with durability", "dbx-16", "elider bench protocols --figure dbx-16 --json FILE", "30% above Silo with Masstree's tree", ""},
    {"17", "latency until durable", "dbx-17", "elider bench protocols --figure dbx-17 --json FILE", "38 to 63 ms",
     "the log's groups take no 40 ms: they follow one another as the disk allows"},
};

constexpr Section kYdbSections[] = {
    {"design, storage", "a B+-tree whose operations are regions", "src/index/btree", "DBX's, with its bounds by cause"},
    {"design, transactions", "versions in a read set, buffered writes, a commit in one region", "src/txn/occ",
     "the published code returns within a region when validation fails, and never fills its write set"},
    {"evaluation", "YCSB derived: 80% read, 20% read and write, 10 M records of 8 bytes", "bench/ycsb, bench/elision", ""},
};

constexpr PaperFigure kYdbFigures[] = {
    {"table", "throughput over 1 to 8 threads, with 3 retries and with 100", "ydb", "elider bench protocols --figure ydb --json FILE", "",
     "`bench elision --value-bytes 8 --records 10000000 --threads 1,2,4,8 --bounds 3,100` gives aborts, too"},
};

constexpr Section kDbxTcSections[] = {
    {"2.1", "hardware transactional memory", "src/htm", ""},
    {"2.2", "whole transactions as regions", "src/txn/baseline/whole_transaction.h, protocol whole-transaction",
     "one lock of the database is elided"},
    {"3.1", "the chopping graph, SC-cycles, merging", "src/txn/chopping, include/elider/chopping.h, docs/chopping.md",
     "conflicts by commit group, and not by table alone; rows that hang on a claimed row; where a procedure may roll back"},
    {"3.2", "readers on snapshots; deferred execution", "src/txn/chopping/analyze.cc",
     "deferral is analyzed and not executed; a reader takes the newest snapshot and waits for the calls that it holds"},
    {"3.3", "static tables; a cache of fresh rows; fallback locks a partition", "src/txn/chopping/analyze.cc",
     "static tables are found; no cache, no such locks yet"},
    {"4.2, 4.3", "snapshot numbers; taken in the conflicting piece", "src/storage/snapshots.h, src/txn/chopping/piece_transaction.h",
     "what writes ahead of the conflicting piece is one with it, and not kept in a buffer"},
    {"4.4", "commutative operations, redone on newer versions", "Transaction::add, src/txn/chopping/piece_transaction.h",
     "who adds waits for the calls of smaller numbers, so that there are no newer versions"},
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
     "needs the preset emulator"},
    {"2 to 9", "drawings: chopping, deferral, snapshots, records", "", "docs/chopping.md", "", ""},
    {"10", "the chopping graph of TPC-C, with reordering and commuting operations", "",
     "`elider chopping report tpcc --without snapshots,tokens,deferring --granularity table`, `--format dot` draws it",
     "very few transactions are cut", "here: new_order and payment in 2 pieces, all others whole"},
    {"11", "the same in DBX-TC", "", "`elider chopping report tpcc`, `--format dot` draws it", "one conflicting piece each",
     "here: new_order in 5 pieces, payment in 7, delivery in 4, its customers deferred"},
    {"12, 13, 14", "throughput of TPC-C in pieces; snapshots and durability; what each optimization brings", "",
     "`elider bench tpcc --protocol chopped`, beside the other protocols", "",
     "with `--sync elided` core and tail are one hardware transaction, else small optimistic ones: docs/chopping.md has figures of both, and of whole transactions as regions; no factor analysis"},
    {"15", "articles", "", "`elider bench articles --protocol chopped`, and under every other protocol",
     "DBX-TC 476 K/s with 8 threads, a tenth above DBX", ""},
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
    {"1", "read-only transactions of TPC-C, order status, beside one thread of payments", "",
     "`elider bench heap --study tpcc`; `--study reads` with random words", "up to 4.0 times the second best", "docs/heap.md; two threads"},
    {"2, 3, 5", "drawings: the waits of SPHT, SI-HTM and DUMBO", "", "docs/heap.md", "", ""},
    {"4", "95% order status and 5% payment, warehouses apart, of SPHT with SI-HTM's reads", "", "`elider bench heap --study tpcc`", "",
     "docs/heap.md; ours in place of SI-HTM"},
    {"table 1", "what each transaction of TPC-C reads and writes", "", "`elider bench heap --study lines`",
     "read and written: stock level 122K, none; order status 650, none; delivery 86K, 30; payment 97, 5; new order 7.5K, 141",
     "docs/heap.md; we count cache lines; the paper names no unit"},
    {"6", "order status and stock level alone", "", "`elider bench heap --study tpcc`", "", "docs/heap.md"},
    {"7", "payment and delivery alone", "", "`elider bench heap --study tpcc`; `--study updates` with random words",
     "11 to 17% above SPHT (payment)", "docs/heap.md; deliveries among the new orders that they deliver"},
    {"8", "mixes of TPC-C: 85% that read, and the standard one", "", "`elider bench heap --study tpcc`", "", "docs/heap.md"},
    {"9", "replay", "", "`elider bench heap --study replay`", "as SPHT's", "docs/heap.md; one thread, 128 MiB, as in the paper"},
};

constexpr Paper kPapers[] = {
    {"dbx", "DBX: Using Restricted Transactional Memory to Build a Scalable In-Memory Database, EuroSys 2014",
     kDbxSections, kDbxFigures},
    {"ydb", "yDB: a key-value store on RTM, after DBX", kYdbSections, kYdbFigures},
    {"hyper", "HyPer-HTM: Leis, Kemper, Neumann: Scaling HTM-Supported Database Transactions to Many Cores, TKDE 2015", kHyperSections,
     kHyperFigures},
    {"dbx-tc", "DBX-TC: transaction chopping on hardware transactions, the successor of DBX", kDbxTcSections, kDbxTcFigures},
    {"dumbo", "DUMBO: durable read-only transactions on hardware transactional memory", kDumboSections, kDumboFigures},
};

}  // namespace

std::span<const Paper> all() { return kPapers; }

}  // namespace elider::bench::papers
