//! Reading the memory of another process.

use std::io;

/// Reads bytes at an address of another process, up to the first that cannot be read. Returns how
/// many were read, which is never zero unless `buffer` is empty. This process must be allowed to
/// trace the other.
pub fn read_memory(thread: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    // A part of a page cannot be unreadable, but a call fails as a whole if a page is.
    const PAGE: u64 = 4096;
    let in_page = usize::try_from(PAGE - address % PAGE).unwrap_or(usize::MAX);
    match read_once(thread, address, buffer) {
        Err(error) if error.raw_os_error() == Some(libc::EFAULT) && buffer.len() > in_page => {
            read_once(thread, address, &mut buffer[..in_page])
        }
        read => read,
    }
}

fn read_once(thread: u32, address: u64, buffer: &mut [u8]) -> io::Result<usize> {
    let invalid = |_| io::Error::from(io::ErrorKind::InvalidInput);
    let thread = libc::pid_t::try_from(thread).map_err(invalid)?;
    let address = usize::try_from(address).map_err(invalid)?;
    let into = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    let from =
        libc::iovec { iov_base: std::ptr::without_provenance_mut(address), iov_len: buffer.len() };
    #[allow(unsafe_code)]
    // SAFETY: the kernel writes at most `buffer.len()` bytes to `buffer`, which is exclusively
    // borrowed until the call returns. `from` is an address of the other process and is never
    // accessed here.
    let read = unsafe { libc::process_vm_readv(thread, &raw const into, 1, &raw const from, 1, 0) };
    usize::try_from(read).map_err(|_| io::Error::last_os_error())
}
