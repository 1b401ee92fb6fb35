//! The effects of a tool call: what it reads, writes, runs and connects to.
//!
//! A tool declares its effects from the arguments of a call, before the call runs. The guard,
//! checkpoints, redaction, exports, progress lines and compaction read the declaration and never
//! look at the name of a tool. A declaration is a claim of the tool, not a permission.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Returns the effects of a call from the tool's name and its arguments.
pub type EffectsOf = dyn Fn(&str, &Map<String, Value>) -> Effects + Send + Sync;

/// The declared effects of one tool call.
///
/// [`Effects::default`] is [`Effects::unknown`]: a tool that declares nothing may do anything.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Effects {
    /// A line that describes the call for a person, such as a path or a command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<Summary>,
    /// Files and directories that the call reads.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub reads: Vec<FileEffect>,
    /// Files that the call creates or changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<FileEffect>,
    /// Shell scripts that the call runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub runs: Vec<String>,
    /// Hosts that the call connects to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub connects: Vec<String>,
    /// True if the call may have effects that the lists above do not name.
    #[serde(default)]
    pub undeclared: bool,
}

/// A line that describes a call for a person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    /// The text of the line.
    pub text: String,
    /// True if every argument of the call is in the line.
    pub complete: bool,
}

/// A file or directory that a call touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEffect {
    /// The path as the model wrote it, relative to the working directory or absolute.
    pub path: String,
    /// Name of the argument that holds the path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub argument: Option<String>,
    /// The part of the file system below the path that the call touches.
    #[serde(default)]
    pub extent: Extent,
}

/// The part of the file system that a [`FileEffect`] covers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Extent {
    /// The content of one file.
    #[default]
    File,
    /// The names in one directory.
    Listing,
    /// Everything below a directory.
    Tree,
}

impl Default for Effects {
    fn default() -> Self {
        Self::unknown()
    }
}

impl Effects {
    /// Declares that a call has no effects outside of the agent.
    pub fn none() -> Self {
        Self { undeclared: false, ..Self::unknown() }
    }

    /// Declares nothing: the call may do anything.
    pub fn unknown() -> Self {
        Self {
            summary: None,
            reads: Vec::new(),
            writes: Vec::new(),
            runs: Vec::new(),
            connects: Vec::new(),
            undeclared: true,
        }
    }

    /// Adds a path that the call reads; `argument` is the argument that holds it.
    #[must_use]
    pub fn read(mut self, path: impl Into<String>, argument: &str, extent: Extent) -> Self {
        self.reads.push(FileEffect::new(path, argument, extent));
        self
    }

    /// Adds a file that the call writes; `argument` is the argument that holds its path.
    #[must_use]
    pub fn write(mut self, path: impl Into<String>, argument: &str) -> Self {
        self.writes.push(FileEffect::new(path, argument, Extent::File));
        self
    }

    /// Adds a shell script that the call runs.
    #[must_use]
    pub fn run(mut self, script: impl Into<String>) -> Self {
        self.runs.push(script.into());
        self
    }

    /// Adds a host that the call connects to.
    #[must_use]
    pub fn connect(mut self, host: impl Into<String>) -> Self {
        self.connects.push(host.into());
        self
    }

    /// Sets the line that describes the call; `complete` if every argument is in it.
    #[must_use]
    pub fn summary(mut self, text: impl Into<String>, complete: bool) -> Self {
        self.summary = Some(Summary { text: text.into(), complete });
        self
    }

    /// Returns true if the call is declared to change nothing.
    pub fn is_read_only(&self) -> bool {
        !self.undeclared
            && self.writes.is_empty()
            && self.runs.is_empty()
            && self.connects.is_empty()
    }
}

impl FileEffect {
    fn new(path: impl Into<String>, argument: &str, extent: Extent) -> Self {
        Self { path: path.into(), argument: Some(argument.to_owned()), extent }
    }
}
