//! Export of a branch as a session file of its own, to pass on or to attach to a report.
//!
//! The export does not name its origin: paths of this machine mean nothing elsewhere.

use std::collections::HashSet;
use std::io::Write;

use pi_protocol::{Entry, EntryBody, Extra, SessionHeader};

use super::Session;
use crate::{SessionError, files, time};

impl Session {
    /// Writes the current branch as a session: a header with the same id and a new time, the
    /// entries as they are in the file, and the labels of those entries at the end. Damaged
    /// lines are found and left out.
    pub fn export_jsonl(&mut self, out: &mut impl Write) -> Result<(), SessionError> {
        self.verify()?;
        let mut write = |line: &str| {
            out.write_all(line.as_bytes())
                .and_then(|()| out.write_all(b"\n"))
                .map_err(SessionError::io("write", "the export"))
        };
        let header =
            SessionHeader::new(self.header.id.clone(), time::now(), self.header.cwd.clone(), None);
        write(&serde_json::to_string(&header)?)?;
        let path = self.tree.path(self.leaf);
        let mut parent_id = self.each_rechained(&path, &mut write)?.map(str::to_owned);
        let mut new_ids = HashSet::new();
        for (target, label) in self.labels_on(&path) {
            let id = files::new_entry_id(|id| self.tree.has_id(id) || new_ids.contains(id));
            let entry = Entry {
                id: id.clone(),
                parent_id,
                timestamp: label.timestamp.clone(),
                body: EntryBody::Label {
                    target_id: target.to_owned(),
                    label: Some(label.text.clone()),
                },
                extra: Extra::new(),
            };
            write(&serde_json::to_string(&entry)?)?;
            parent_id = Some(id.clone());
            new_ids.insert(id);
        }
        out.flush().map_err(SessionError::io("write", "the export"))
    }
}
