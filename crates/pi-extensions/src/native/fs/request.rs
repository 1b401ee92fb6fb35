//! The arguments of an operation on files, and the access that it needs.

use std::fs::File;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;
use std::sync::Arc;

use rustix::io::Errno;

use super::Descriptors;
use crate::access::{FileAccess, Links, PendingApproval};
use crate::error::NativeError;
use crate::host::{Call, Host, Thrown};
use crate::native::errno;
use crate::value::Plain;

/// The work of an operation; it may block.
pub(super) type Work = Box<dyn FnOnce() -> Result<Plain, NativeError> + Send>;

/// A path of an argument: as it was given, for messages, and as it is used.
#[derive(Debug, Clone)]
pub(super) struct Place {
    pub(super) given: String,
    pub(super) path: PathBuf,
}

impl Place {
    /// The error of a system call on this path.
    pub(super) fn failed(
        &self,
        syscall: &'static str,
    ) -> impl FnOnce(std::io::Error) -> NativeError {
        let given = self.given.clone();
        move |error| errno::file_error(errno::number(&error), syscall, Some(&given), None)
    }
}

/// The error of a system call with two paths.
pub(super) fn failed_to(
    from: &Place,
    to: &Place,
    syscall: &'static str,
) -> impl FnOnce(std::io::Error) -> NativeError {
    let (from, to) = (from.given.clone(), to.given.clone());
    move |error| errno::file_error(errno::number(&error), syscall, Some(&from), Some(&to))
}

/// The arguments of one operation. JavaScript passes its name before them.
pub(super) struct Request<'a, 'js> {
    call: &'a Call<'a, 'js>,
    pub(super) host: &'a Host,
    /// Approvals to wait for before the work.
    pub(super) approvals: Vec<PendingApproval>,
}

impl<'a, 'js> Request<'a, 'js> {
    pub(super) fn new(call: &'a Call<'a, 'js>) -> Self {
        Self { call, host: call.host, approvals: Vec::new() }
    }

    /// Names the argument in an error of its conversion.
    fn checked<T>(&self, at: usize, read: Result<T, Thrown>) -> Result<T, NativeError> {
        read.map_err(|error| {
            let error = match error {
                Thrown::Native(error) => return error,
                Thrown::Engine(error) => error,
            };
            if matches!(error, rquickjs::Error::Exception) {
                // The exception is replaced by an error that names the argument.
                self.call.ctx().catch();
            }
            let message = format!("argument {at} of an operation on files: {error}");
            NativeError::of("TypeError", message).with("code", "ERR_INVALID_ARG_TYPE")
        })
    }

    pub(super) fn is_missing(&self, at: usize) -> bool {
        self.call.is_missing(at + 1)
    }

    pub(super) fn flag(&self, at: usize) -> Result<bool, NativeError> {
        Ok(!self.is_missing(at) && self.checked(at, self.call.flag(at + 1))?)
    }

    pub(super) fn number(&self, at: usize) -> Result<f64, NativeError> {
        self.checked(at, self.call.number(at + 1))
    }

    /// Returns a number that is not negative; `None` if the argument is missing or negative.
    pub(super) fn position(&self, at: usize) -> Result<Option<u64>, NativeError> {
        if self.is_missing(at) {
            return Ok(None);
        }
        let number = self.number(at)?;
        Ok((number >= 0.0).then_some(number as u64))
    }

    pub(super) fn text(&self, at: usize) -> Result<String, NativeError> {
        self.checked(at, self.call.text(at + 1))
    }

    /// Returns bytes, or the bytes of a text.
    pub(super) fn bytes(&self, at: usize) -> Result<Vec<u8>, NativeError> {
        if self.call.value(at + 1).is_string() {
            return self.text(at).map(String::into_bytes);
        }
        self.checked(at, self.call.bytes(at + 1))
    }

    /// Returns an open file by its number.
    pub(super) fn file(&self, at: usize, syscall: &'static str) -> Result<Arc<File>, NativeError> {
        let number = self.checked(at, self.call.integer(at + 1))?;
        let file = self.host.area::<Descriptors>().get(number);
        file.ok_or_else(|| errno::file_error(Errno::BADF, syscall, None, None))
    }

    /// Returns a path to read.
    pub(super) fn read(&mut self, at: usize, links: Links) -> Result<Place, NativeError> {
        self.place(at, FileAccess::Read, links)
    }

    /// Returns a path to write.
    pub(super) fn write(&mut self, at: usize, links: Links) -> Result<Place, NativeError> {
        self.place(at, FileAccess::Write, links)
    }

    /// Returns a path after asking for access to it.
    pub(super) fn place(
        &mut self,
        at: usize,
        access: FileAccess,
        links: Links,
    ) -> Result<Place, NativeError> {
        let bytes = self.bytes(at)?;
        let given = String::from_utf8_lossy(&bytes).into_owned();
        if bytes.is_empty() {
            // The system has no file of this name; joined to a directory it would be one.
            return Ok(Place { given, path: PathBuf::new() });
        }
        let path = self.host.process.absolute(&PathBuf::from(std::ffi::OsString::from_vec(bytes)));
        let permission = self.host.access.file(&path, access, links)?;
        let (path, approval) = permission.split();
        self.approvals.extend(approval);
        Ok(Place { given, path })
    }
}
