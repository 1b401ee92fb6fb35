//! Lists of servers on disk, so that a session knows the tools of a server without starting it.
//!
//! Servers of the modern era say how long a list stays fresh. The lists of other servers are used
//! until the next connection replaces them, but not when they are old. Deleting a file loses nothing.

use std::fs;
use std::path::{Path, PathBuf};

use pi_mcp::protocol::{Implementation, Prompt, ServerCapabilities, Tool};
use pi_protocol::now_ms;
use serde::{Deserialize, Serialize};

/// Changes with the format of the files.
const VERSION: u32 = 1;

/// The largest file that is written or read.
const LARGEST: u64 = 16 << 20;

/// Age at which lists are not used any more if their server did not say how long they stay fresh.
const OLD_MS: f64 = 7.0 * 24.0 * 3600.0 * 1000.0;

/// The longest time that a server can ask for.
const LONGEST_TTL_MS: f64 = 30.0 * 24.0 * 3600.0 * 1000.0;

/// The lists of a server, and what it says about itself.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Lists {
    /// The server speaks the protocol of 2026-07-28 or later.
    pub(crate) is_modern: bool,
    /// Name and version of the server.
    pub(crate) server: Option<Implementation>,
    /// Capabilities of the server.
    pub(crate) capabilities: ServerCapabilities,
    /// How to use the server.
    pub(crate) instructions: Option<String>,
    /// The tools.
    pub(crate) tools: Vec<Tool>,
    /// The prompts.
    pub(crate) prompts: Vec<Prompt>,
    /// Time at which the lists were complete, in milliseconds since 1970.
    pub(crate) listed_at: f64,
    /// Time for which the lists stay fresh, if the server says so.
    pub(crate) ttl_ms: Option<f64>,
}

impl Lists {
    /// Returns true if the server said that the lists are still right.
    pub(crate) fn is_fresh(&self) -> bool {
        self.ttl_ms.is_some_and(|ttl| age(self) < ttl.min(LONGEST_TTL_MS))
    }

    fn is_usable(&self) -> bool {
        self.is_fresh() || age(self) < OLD_MS
    }
}

fn age(lists: &Lists) -> f64 {
    let age = now_ms() - lists.listed_at;
    // A clock that was set back makes no list young.
    if age < 0.0 { f64::INFINITY } else { age }
}

#[derive(Serialize, Deserialize)]
struct Stored {
    version: u32,
    fingerprint: String,
    lists: Lists,
}

/// The directory of the lists.
#[derive(Debug)]
pub(crate) struct Cache {
    directory: PathBuf,
}

impl Cache {
    pub(crate) fn new(agent_directory: &Path) -> Self {
        Self { directory: agent_directory.join("mcp-cache") }
    }

    /// Returns the lists of a server that can still be used.
    pub(crate) fn read(&self, fingerprint: &str) -> Option<Lists> {
        let path = self.path(fingerprint);
        if fs::metadata(&path).ok()?.len() > LARGEST {
            return None;
        }
        let stored: Stored = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let is_right = stored.version == VERSION && stored.fingerprint == fingerprint;
        Some(stored.lists).filter(|lists| is_right && lists.is_usable())
    }

    /// Stores the lists of a server. A failure costs the next session a connection, nothing else.
    pub(crate) fn write(&self, fingerprint: &str, lists: &Lists) {
        let (version, fingerprint) = (VERSION, fingerprint.to_owned());
        let path = self.path(&fingerprint);
        let stored = Stored { version, fingerprint, lists: lists.clone() };
        let Ok(text) = serde_json::to_vec(&stored) else { return };
        if text.len() as u64 <= LARGEST && fs::create_dir_all(&self.directory).is_ok() {
            let _ = pi_fs::replace(&path, &text);
        }
    }

    fn path(&self, fingerprint: &str) -> PathBuf {
        self.directory.join(format!("{fingerprint}.json"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_kept_while_they_are_fresh() {
        let directory = tempfile::tempdir().unwrap();
        let cache = Cache::new(directory.path());
        assert_eq!(cache.read("a"), None);
        let lists = Lists { listed_at: now_ms(), ..Lists::default() };
        for (age, ttl, is_usable, is_fresh) in [
            (0.0, None, true, false),
            (OLD_MS + 1.0, None, false, false),
            (5_000.0, Some(60_000.0), true, true),
            (5_000.0, Some(1_000.0), true, false),
            (OLD_MS + 1.0, Some(OLD_MS * 2.0), true, true),
            (OLD_MS * 9.0, Some(f64::MAX), false, false),
            (-9_000_000.0, Some(60_000.0), false, false),
        ] {
            let lists = Lists { listed_at: lists.listed_at - age, ttl_ms: ttl, ..lists.clone() };
            cache.write("a", &lists);
            let read = cache.read("a");
            assert_eq!(read.is_some(), is_usable, "age {age}, ttl {ttl:?}");
            assert_eq!(
                read.is_some_and(|read| read.is_fresh()),
                is_fresh,
                "age {age}, ttl {ttl:?}"
            );
        }
        assert_eq!(cache.read("b"), None);
    }
}
