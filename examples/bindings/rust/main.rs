// Binds a part of elider/c.h by hand, and counts in a transaction with a closure as its body.
use std::ffi::{c_char, c_int, c_void, CStr};
use std::ptr::{null, null_mut};

#[repr(C)]
pub struct Opaque {
    _private: [u8; 0],
}
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Key {
    data: *const c_void,
    size_or_number: u64,
}
#[repr(C)]
pub struct Row {
    key: Key,
    data: *const c_void,
    size: usize,
    position: *const c_void,
    position_size: usize,
}
const OK: i32 = 0;
const NOT_FOUND: i32 = 1;
const ROLLED_BACK: i32 = 8;
const PROCEDURE_THREW: i32 = 9;
const KEYS_BYTES: i32 = 1;
const ROWS_VALUES: i32 = 1;

#[link(name = "elider_c")]
extern "C" {
    fn elider_error_new() -> *mut Opaque;
    fn elider_error_free(error: *mut Opaque);
    fn elider_error_message(error: *mut Opaque) -> *const c_char;
    fn elider_open(folder: *const c_char, options: *const Opaque, database: *mut *mut Opaque, error: *mut Opaque) -> i32;
    fn elider_close(database: *mut Opaque, error: *mut Opaque) -> i32;
    fn elider_schema_new(table: *const c_char, keys: i32, rows: i32) -> *mut Opaque;
    fn elider_schema_free(schema: *mut Opaque);
    fn elider_create_table(database: *mut Opaque, schema: *const Opaque, table: *mut *mut Opaque, error: *mut Opaque) -> i32;
    fn elider_run(
        database: *mut Opaque, procedure: extern "C" fn(*mut Opaque, *mut c_void) -> c_int, context: *mut c_void,
        policy: *const Opaque, error: *mut Opaque,
    ) -> i32;
    fn elider_get(
        transaction: *mut Opaque, table: *mut Opaque, key: Key, columns: *const Opaque, row: *mut Row, error: *mut Opaque,
    ) -> i32;
    fn elider_put(
        transaction: *mut Opaque, table: *mut Opaque, key: Key, row: *const c_void, size: usize, error: *mut Opaque,
    ) -> i32;
}

fn bytes(key: &[u8]) -> Key {
    Key { data: key.as_ptr().cast(), size_or_number: key.len() as u64 }
}

struct Transaction(*mut Opaque);
impl Transaction {
    fn get<'t>(&'t self, table: *mut Opaque, key: &[u8]) -> Result<Option<&'t [u8]>, i32> {
        let mut row = Row { key: bytes(b""), data: null(), size: 0, position: null(), position_size: 0 };
        match unsafe { elider_get(self.0, table, bytes(key), null(), &mut row, null_mut()) } {
            OK => Ok(Some(unsafe { std::slice::from_raw_parts(row.data.cast(), row.size) })),
            NOT_FOUND => Ok(None),
            code => Err(code),
        }
    }
    fn put(&self, table: *mut Opaque, key: &[u8], value: &[u8]) -> Result<(), i32> {
        match unsafe { elider_put(self.0, table, bytes(key), value.as_ptr().cast(), value.len(), null_mut()) } {
            OK => Ok(()),
            code => Err(code),
        }
    }
}

// A panic must not unwind through C.
extern "C" fn call_body<F: FnMut(&Transaction) -> Result<(), i32>>(txn: *mut Opaque, context: *mut c_void) -> c_int {
    let body = unsafe { &mut *context.cast::<F>() };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| body(&Transaction(txn)))) {
        Ok(Ok(())) => OK,
        Ok(Err(code)) => code,
        Err(_) => PROCEDURE_THREW,
    }
}

struct Database {
    database: *mut Opaque,
    error: *mut Opaque,
}
impl Database {
    fn run<F: FnMut(&Transaction) -> Result<(), i32>>(&self, mut body: F) -> Result<(), String> {
        self.check(unsafe { elider_run(self.database, call_body::<F>, (&mut body as *mut F).cast(), null(), self.error) })
    }
    fn check(&self, code: i32) -> Result<(), String> {
        if code == OK {
            return Ok(());
        }
        Err(unsafe { CStr::from_ptr(elider_error_message(self.error)) }.to_string_lossy().into_owned())
    }
}

fn main() -> Result<(), String> {
    let mut db = Database { database: null_mut(), error: unsafe { elider_error_new() } };
    let opened = unsafe { elider_open(null(), null(), &mut db.database, db.error) };
    db.check(opened)?;
    let mut table = null_mut();
    let schema = unsafe { elider_schema_new(b"counters\0".as_ptr().cast(), KEYS_BYTES, ROWS_VALUES) };
    db.check(unsafe { elider_create_table(db.database, schema, &mut table, db.error) })?;
    unsafe { elider_schema_free(schema) };
    for _ in 0..3 {
        db.run(|txn| {
            let count = txn.get(table, b"visits")?.map_or(0, |value| u64::from_le_bytes(value.try_into().unwrap()));
            txn.put(table, b"visits", &(count + 1).to_le_bytes())
        })?;
    }
    let refused = db.run(|txn| txn.put(table, b"visits", &[0; 8]).and(Err(ROLLED_BACK)));
    assert!(refused.is_err());
    let mut visits = 0;
    db.run(|txn| {
        visits = u64::from_le_bytes(txn.get(table, b"visits")?.unwrap().try_into().unwrap());
        Ok(())
    })?;
    println!("{visits} visits");
    assert_eq!(visits, 3);
    db.check(unsafe { elider_close(db.database, db.error) })?;
    unsafe { elider_error_free(db.error) };
    Ok(())
}
