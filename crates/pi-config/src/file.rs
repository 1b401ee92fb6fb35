//! A JSON object in a file that other programs read and write too.
//!
//! Reading takes no lock, so it works in directories of other users. The TypeScript pi writes in
//! place, so a file that looks broken may be half written: it is read again under the lock before
//! an error is reported. This program replaces the file instead, where the system supports that.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use pi_base::text::without_mark;
use pi_fs::Access;
use serde::Serialize as _;
use serde_json::{Map, Value};

use crate::ConfigError;
use crate::lock::Lock;

/// A JSON file with its properties.
#[derive(Debug, Clone)]
pub struct JsonFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Age at which a lock is stale.
    pub stale: Duration,
    /// Users who may read the file.
    pub access: Access,
    /// Text after the closing brace.
    pub end: &'static str,
}

impl JsonFile {
    /// Reads the object in the file. `None` if the file does not exist or is empty.
    pub fn read(&self) -> Result<Option<Map<String, Value>>, ConfigError> {
        match read_object(&self.path) {
            Ok(Content::Object(object)) => Ok(Some(object)),
            Ok(Content::Absent) => Ok(None),
            doubtful @ (Ok(Content::Empty) | Err(_)) => {
                let again = match Lock::take(&self.path, self.stale) {
                    Ok(_lock) => read_object(&self.path),
                    Err(_) => doubtful,
                };
                again.map(|content| match content {
                    Content::Object(object) => Some(object),
                    Content::Absent | Content::Empty => None,
                })
            }
        }
    }

    /// Takes the lock and reads the current content.
    pub fn open(&self) -> Result<OpenFile<'_>, ConfigError> {
        self.create_directory()?;
        let lock = Lock::take(&self.path, self.stale)?;
        self.open_locked(lock)
    }

    /// Creates the directory of the file, which a lock needs.
    pub fn create_directory(&self) -> Result<(), ConfigError> {
        let Some(directory) = self.path.parent() else { return Ok(()) };
        create_directory(directory, self.access).map_err(ConfigError::write(&self.path))
    }

    /// Reads the current content under a lock that is held already.
    pub(super) fn open_locked(&self, lock: Lock) -> Result<OpenFile<'_>, ConfigError> {
        let content = match read_object(&self.path)? {
            Content::Object(object) => object,
            Content::Absent | Content::Empty => Map::new(),
        };
        Ok(OpenFile { file: self, lock, content })
    }
}

/// A file under its lock. Dropping it changes nothing.
#[derive(Debug)]
pub struct OpenFile<'f> {
    file: &'f JsonFile,
    lock: Lock,
    /// Content of the file, to be changed.
    pub content: Map<String, Value>,
}

impl OpenFile<'_> {
    /// Writes the content and keeps the lock.
    pub fn write(&self) -> Result<(), ConfigError> {
        self.write_indented("  ")
    }

    /// Writes the content with the indentation that the file has, and keeps the lock.
    pub fn write_as_found(&self) -> Result<(), ConfigError> {
        let text = fs::read_to_string(&self.file.path).unwrap_or_default();
        self.write_indented(indentation(&text).unwrap_or("  "))
    }

    fn write_indented(&self, indent: &str) -> Result<(), ConfigError> {
        let path = &self.file.path;
        let mut text = Vec::new();
        let formatter = serde_json::ser::PrettyFormatter::with_indent(indent.as_bytes());
        let mut writer = serde_json::Serializer::with_formatter(&mut text, formatter);
        self.content
            .serialize(&mut writer)
            .map_err(|error| ConfigError::write(path)(error.into()))?;
        text.extend_from_slice(self.file.end.as_bytes());
        if !self.lock.is_held() {
            return Err(ConfigError::LockLost { path: path.clone() });
        }
        replace(path, &text, self.file.access).map_err(ConfigError::write(path))
    }
}

/// Returns the blanks before the first indented line of a text.
fn indentation(text: &str) -> Option<&str> {
    text.lines().find_map(|line| {
        let rest = line.trim_start_matches([' ', '\t']);
        let blanks = &line[..line.len() - rest.len()];
        (!blanks.is_empty() && !rest.trim().is_empty()).then_some(blanks)
    })
}

enum Content {
    Absent,
    Empty,
    Object(Map<String, Value>),
}

fn read_object(path: &Path) -> Result<Content, ConfigError> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) => {
            use io::ErrorKind::{NotADirectory, NotFound};
            return match error.kind() {
                NotFound | NotADirectory => Ok(Content::Absent),
                _ => Err(ConfigError::Read { path: path.to_owned(), source: error }),
            };
        }
    };
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let before = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
        let problem = "the text is not UTF-8".to_owned();
        syntax_error(path, &before, problem)
    })?;
    let text = without_mark(text);
    if text.trim().is_empty() {
        return Ok(Content::Empty);
    }
    let value = serde_json::from_str(text).map_err(|error| parse_error(path, text, &error))?;
    match value {
        Value::Object(object) => Ok(Content::Object(object)),
        other => Err(ConfigError::Shape {
            path: path.to_owned(),
            problem: format!("expected an object, not {}", kind(&other)),
        }),
    }
}

/// Describes the type of a value.
pub fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

/// Returns an error at the end of `before`, with line and column as editors count them.
fn syntax_error(path: &Path, before: &str, problem: String) -> ConfigError {
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    ConfigError::Syntax { path: path.to_owned(), line, column, problem }
}

fn parse_error(path: &Path, text: &str, error: &serde_json::Error) -> ConfigError {
    let message = error.to_string();
    // The position is reported separately.
    let problem = message.split(" at line ").next().unwrap_or(&message);
    let line = text.split_inclusive('\n').nth(error.line().saturating_sub(1)).unwrap_or("");
    // The parser counts bytes, and the end of a line as column 0 of the next.
    let bytes = line.as_bytes().get(..error.column().saturating_sub(1)).unwrap_or(line.as_bytes());
    let column = String::from_utf8_lossy(bytes).chars().count() + 1;
    let comment = line.get(bytes.len()..).is_some_and(|rest| rest.starts_with('/'));
    let problem = if comment { "comments are not allowed here" } else { problem };
    ConfigError::Syntax {
        path: path.to_owned(),
        line: error.line(),
        column,
        problem: problem.to_owned(),
    }
}

/// Creates a directory and its missing ancestors.
fn create_directory(directory: &Path, access: Access) -> io::Result<()> {
    match access {
        Access::Private => pi_fs::create_private(directory),
        Access::Default => fs::create_dir_all(directory),
    }
}

/// Replaces the content of a file, or of the target of a link.
fn replace(path: &Path, content: &[u8], access: Access) -> io::Result<()> {
    let created = access == Access::Private && make_private(path)?;
    pi_fs::replace(path, content).inspect_err(|_| {
        if created {
            // An empty file would look like a logout from all providers.
            let _ = fs::remove_file(path);
        }
    })
}

/// Makes a file private before it gets new content. Returns true if it was created.
#[cfg(unix)]
fn make_private(path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::PermissionsExt;
    match fs::metadata(path) {
        Ok(found) if found.permissions().mode() & 0o077 == 0 => Ok(false),
        Ok(_) => fs::set_permissions(path, PermissionsExt::from_mode(0o600)).map(|()| false),
        // Not `create_new`: a link may lead to a file that does not exist yet.
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            pi_fs::private_file().write(true).create(true).truncate(false).open(path)?;
            Ok(true)
        }
        Err(error) => Err(error),
    }
}

#[cfg(not(unix))]
fn make_private(_: &Path) -> io::Result<bool> {
    Ok(false)
}
