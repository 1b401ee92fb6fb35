//! Locks whose data outlives a panic.
//!
//! Panics are contained at the boundaries of tools, hooks and listeners, so a session continues after
//! one. Data behind a lock is changed in steps that leave it valid: a panic of another thread is no
//! reason to fail.

use std::sync::{LockResult, Mutex, MutexGuard, PoisonError};

/// Locks a mutex, also after a panic of a thread that held it.
pub fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// Returns the guard or the value of a lock, also after a panic of a thread that held it.
#[expect(clippy::disallowed_methods, reason = "the one place that looks behind poison")]
pub fn unpoisoned<T>(result: LockResult<T>) -> T {
    result.unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::panic::catch_unwind;

    use super::*;

    #[test]
    fn the_data_is_there_after_a_panic() {
        let mutex = Mutex::new(1);
        let result = catch_unwind(|| {
            *lock(&mutex) = 2;
            let _guard = lock(&mutex);
            panic!("while the lock is held");
        });
        assert!(result.is_err() && mutex.is_poisoned());
        assert_eq!(*lock(&mutex), 2);
        assert_eq!(unpoisoned(mutex.into_inner()), 2);
    }
}
