//! A copy of a session with changed lines, such as one without secrets.

use std::ops::ControlFlow;

use super::Session;
use super::load::read_header;
use crate::SessionError;
use crate::log::Log;

impl Session {
    /// Returns a copy in memory whose lines `change` has replaced; `None` if it replaces none. The
    /// copy has the same current entry, so `change` must keep ids.
    pub fn map_lines(
        &self,
        mut change: impl FnMut(&str) -> Option<String>,
    ) -> Result<Option<Self>, SessionError> {
        // Nothing is copied before the first change.
        let mut copy: Option<Vec<u8>> = None;
        let mut failed = None;
        self.log.lines(0, |offset, line| {
            let changed = change(&String::from_utf8_lossy(line));
            if changed.is_some() && copy.is_none() {
                let mut buffer = Vec::new();
                match self.log.read(0..offset, &mut buffer) {
                    Ok(before) => copy = Some(before.to_vec()),
                    Err(error) => {
                        failed = Some(error);
                        return ControlFlow::Break(());
                    }
                }
            }
            if let Some(copy) = &mut copy {
                copy.extend_from_slice(changed.as_ref().map_or(line, |changed| changed.as_bytes()));
                copy.push(b'\n');
            }
            ControlFlow::Continue(())
        })?;
        if let Some(error) = failed {
            return Err(error);
        }
        let Some(bytes) = copy else { return Ok(None) };
        let log = Log::Memory { bytes, target: None };
        let header = read_header(&log)?.unwrap_or_else(|| self.header.clone());
        let mut session = Self::empty(header, log);
        session.opened.clone_from(&self.opened);
        session.scan(0)?;
        session.leaf = match self.leaf_id() {
            Some(leaf) => session.tree.find(leaf),
            None => None,
        };
        Ok(Some(session))
    }
}
