//! Copying files.

use std::fs;
use std::io;

use rustix::io::Errno;

use super::Prepare;
use super::request::{Request, Work, failed_to};
use crate::access::Links;
use crate::error::NativeError;
use crate::native::errno;
use crate::value::Plain;

pub(super) const OPERATIONS: &[(&str, Prepare)] = &[("copyFile", copy_file)];

/// Does not replace a file (`COPYFILE_EXCL`).
const EXCLUSIVE: u32 = 1;

/// `copyFile(from, to, mode)`
fn copy_file(call: &mut Request<'_, '_>) -> Result<Work, NativeError> {
    let (from, to) = (call.read(0, Links::Follow)?, call.write(1, Links::Follow)?);
    let exclusive = call.number(2)? as u32 & EXCLUSIVE != 0;
    Ok(Box::new(move || {
        let failed =
            |number| errno::file_error(number, "copyfile", Some(&from.given), Some(&to.given));
        if fs::metadata(&from.path).is_ok_and(|found| found.is_dir()) {
            return Err(failed(Errno::ISDIR));
        }
        if exclusive {
            // Made here, so that no file that appears meanwhile is replaced.
            let made = fs::OpenOptions::new().write(true).create_new(true).open(&to.path);
            made.map_err(failed_to(&from, &to, "copyfile"))?;
        }
        let copied: io::Result<u64> = fs::copy(&from.path, &to.path);
        copied.map_err(failed_to(&from, &to, "copyfile"))?;
        Ok(Plain::Nothing)
    }))
}
