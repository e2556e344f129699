// Binds a part of elider/c.h with cgo, and counts in transactions of several goroutines. A goroutine
// may move to another thread between two calls, so it uses interactive transactions.
package main

/*
#cgo pkg-config: elider_c
#include <stdlib.h>
#include "elider/c.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"unsafe"
)

type database struct {
	handle *C.elider_database
	table  *C.elider_table
}

func failure(code C.elider_code, its *C.elider_error) error {
	if code == C.ELIDER_OK {
		return nil
	}
	return errors.New(C.GoString(C.elider_error_message(its)))
}

func open(table string) (*database, error) {
	its := C.elider_error_new()
	defer C.elider_error_free(its)
	db := &database{}
	if err := failure(C.elider_open(nil, nil, &db.handle, its), its); err != nil {
		return nil, err
	}
	name := C.CString(table)
	defer C.free(unsafe.Pointer(name))
	schema := C.elider_schema_new(name, C.ELIDER_KEYS_NUMBERS, C.ELIDER_ROWS_VALUES)
	defer C.elider_schema_free(schema)
	return db, failure(C.elider_create_table(db.handle, schema, &db.table, its), its)
}

// run calls body until its transaction has committed, or has failed for another reason than a conflict.
func (db *database) run(body func(txn *C.elider_transaction) C.elider_code) error {
	its := C.elider_error_new()
	defer C.elider_error_free(its)
	var txn *C.elider_transaction
	code := C.elider_begin(db.handle, nil, &txn, its)
	defer func() { C.elider_transaction_free(txn) }()
	for code == C.ELIDER_OK {
		if code = body(txn); code == C.ELIDER_OK {
			code = C.elider_commit(txn, nil, its)
		}
		if code == C.ELIDER_OK {
			return nil
		}
		code = C.elider_retry(txn, code, its)
	}
	return failure(code, its)
}

func (db *database) read(txn *C.elider_transaction, key uint64) (uint64, C.elider_code) {
	var row C.elider_row
	code := C.elider_get(txn, db.table, C.elider_number(C.uint64_t(key)), nil, &row, nil)
	if code != C.ELIDER_OK {
		return 0, code
	}
	return *(*uint64)(row.data), code
}

func (db *database) increment(txn *C.elider_transaction) C.elider_code {
	count, code := db.read(txn, 1)
	if code != C.ELIDER_OK && code != C.ELIDER_NOT_FOUND {
		return code
	}
	count++
	return C.elider_put(txn, db.table, C.elider_number(1), unsafe.Pointer(&count), 8, nil)
}

func main() {
	db, err := open("counters")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	const goroutines, rounds = 8, 200
	var group sync.WaitGroup
	failures := make(chan error, goroutines*rounds)
	for i := 0; i < goroutines; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < rounds; j++ {
				if err := db.run(db.increment); err != nil {
					failures <- err
				}
			}
		}()
	}
	group.Wait()
	var count uint64
	if err := db.run(func(txn *C.elider_transaction) (code C.elider_code) { count, code = db.read(txn, 1); return }); err != nil {
		failures <- err
	}
	fmt.Println(count, "increments")
	if code := C.elider_close(db.handle, nil); code != C.ELIDER_OK || len(failures) != 0 || count != goroutines*rounds {
		os.Exit(1)
	}
}
