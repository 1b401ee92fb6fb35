//! Capabilities: what the JavaScript of one thread may reach outside the engine.
//!
//! Every native function that touches files, processes, the network, the environment or the session
//! asks here first. Capabilities belong to a thread, because code in one realm shares all its
//! objects: an extension with fewer rights runs on a thread of its own.

use std::path::Path;

use crate::error::NativeError;

/// The rights of the JavaScript of one thread.
#[derive(Debug, Clone, Default)]
pub struct Access {
    _private: (),
}

impl Access {
    /// Checks reading a file or listing a directory.
    pub(crate) fn read(&self, _path: &Path) -> Result<(), NativeError> {
        Ok(())
    }

    /// Checks creating, changing or removing a file or directory.
    pub(crate) fn write(&self, _path: &Path) -> Result<(), NativeError> {
        Ok(())
    }

    /// Checks a connection to a host.
    pub(crate) fn connect(&self, _host: &str, _port: u16) -> Result<(), NativeError> {
        Ok(())
    }

    /// Checks listening on a port.
    pub(crate) fn listen(&self, _host: &str, _port: u16) -> Result<(), NativeError> {
        Ok(())
    }

    /// Checks reading or changing a variable of the environment.
    pub(crate) fn variable(&self, _name: &str) -> Result<(), NativeError> {
        Ok(())
    }
}
