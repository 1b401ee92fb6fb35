//! Pins: what was known of a tool when it was first used.
//!
//! A server can change the description of a tool after the tool was approved, to make a model do
//! something else with it. So the first call that is permitted pins a hash of the description, the
//! schema and the annotations; a call of a tool that has changed since needs a new approval.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use pi_base::lock;
use pi_config::lock::with_lock;

/// The most tools that are remembered. A file with more is not extended.
const MOST: usize = 20_000;

type Pinned = BTreeMap<String, BTreeMap<String, String>>;

/// The pins of all servers, in one file of the user.
#[derive(Debug)]
pub(crate) struct Pins {
    path: PathBuf,
    /// The pins as they were last read; `None` before the first call of a tool.
    known: Mutex<Option<Pinned>>,
}

impl Pins {
    pub(crate) fn new(agent_directory: &Path) -> Self {
        Self { path: agent_directory.join("mcp-pins.json"), known: Mutex::default() }
    }

    /// Returns true if a tool was used before and is another one now.
    pub(crate) fn is_changed(&self, server: &str, tool: &str, hash: &str) -> bool {
        let mut known = lock(&self.known);
        let pinned = known.get_or_insert_with(|| read(&self.path));
        pinned.get(server).and_then(|tools| tools.get(tool)).is_some_and(|pin| pin != hash)
    }

    /// Remembers a tool whose call was permitted. Failures are not fatal: the next change of the
    /// tool is then not noticed by other processes, but by this one.
    pub(crate) fn pin(&self, server: &str, tool: &str, hash: &str) {
        let mut known = lock(&self.known);
        let pinned = known.get_or_insert_with(|| read(&self.path));
        if pinned.get(server).and_then(|tools| tools.get(tool)).is_some_and(|pin| pin == hash) {
            return;
        }
        let add = |pinned: &mut Pinned| {
            let tools = pinned.entry(server.to_owned()).or_default();
            tools.insert(tool.to_owned(), hash.to_owned());
        };
        add(pinned);
        let _ = with_lock(&self.path, || {
            let mut current = match parse(&self.path) {
                Ok(current) => current,
                Err(Unreadable) => {
                    // A person may want to repair it.
                    let _ = fs::rename(&self.path, self.path.with_extension("broken.json"));
                    Pinned::new()
                }
            };
            if current.values().map(BTreeMap::len).sum::<usize>() >= MOST {
                return;
            }
            add(&mut current);
            if let Ok(text) = serde_json::to_vec_pretty(&current) {
                let _ = pi_fs::replace(&self.path, &text);
            }
            *pinned = current;
        });
    }
}

fn read(path: &Path) -> Pinned {
    parse(path).unwrap_or_default()
}

/// The file exists and has no pins that can be read.
struct Unreadable;

fn parse(path: &Path) -> Result<Pinned, Unreadable> {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_err(|_| Unreadable),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(Pinned::new()),
        Err(_) => Err(Unreadable),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_file_is_kept_aside() {
        let directory = tempfile::tempdir().unwrap();
        let pins = Pins::new(directory.path());
        fs::write(&pins.path, "{\"s\": {\"t\": \"1\"},").unwrap();
        pins.pin("s", "u", "2");
        assert!(Pins::new(directory.path()).is_changed("s", "u", "3"));
        let aside = fs::read_to_string(directory.path().join("mcp-pins.broken.json")).unwrap();
        assert!(aside.contains("\"t\""), "{aside}");
    }

    #[test]
    fn a_changed_tool_is_noticed_in_every_process() {
        let directory = tempfile::tempdir().unwrap();
        let (first, second) = (Pins::new(directory.path()), Pins::new(directory.path()));
        assert!(!first.is_changed("s", "t", "1"));
        first.pin("s", "t", "1");
        assert!(!first.is_changed("s", "t", "1"));
        assert!(first.is_changed("s", "t", "2"));
        assert!(second.is_changed("s", "t", "2"));
        assert!(!second.is_changed("s", "other", "2") && !second.is_changed("other", "t", "2"));
        second.pin("s", "u", "1");
        second.pin("s", "t", "2");
        let third = Pins::new(directory.path());
        assert!(third.is_changed("s", "t", "1") && !third.is_changed("s", "u", "1"));
    }
}
