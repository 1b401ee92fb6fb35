//! An executor that reads and writes files through the client, so that unsaved buffers count, and
//! runs commands in its terminals if that is wanted.
//!
//! The guard judges a call before it comes here. The disk stays the truth for commands: what is
//! written must be on the disk afterwards, and what the client cannot read or write is read and
//! written there.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use pi_tools::{
    BoxFuture, Command, DirectoryEntry, Executor, FileKind, PathPredicate, PipedProcess, Process,
    Stat, TreeEntry,
};
use serde_json::json;

use crate::client::Client;
use crate::events::Reporter;
use crate::terminal;

/// Largest file that goes through the client.
const LARGEST: u64 = 8 << 20;
/// Time that the client has to read or write a file.
const WAIT: Duration = Duration::from_secs(10);

/// Operations that go through the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Through {
    pub(crate) reads: bool,
    pub(crate) writes: bool,
    pub(crate) commands: bool,
}

/// An executor with the files and terminals of the client.
pub(crate) struct ClientExecutor {
    pub(crate) inner: Arc<dyn Executor>,
    pub(crate) client: Client,
    /// Has the session, once it is open.
    pub(crate) reporter: Arc<Reporter>,
    pub(crate) through: Through,
}

impl std::fmt::Debug for ClientExecutor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientExecutor").field("inner", &self.inner).finish_non_exhaustive()
    }
}

impl ClientExecutor {
    /// Returns the text of a file as the client has it; `None` if it has none.
    async fn buffer(&self, path: &Path) -> Option<String> {
        let session = self.reporter.session()?;
        let params = json!({ "sessionId": session, "path": path.to_str()? });
        let answer = self.client.call("fs/read_text_file", params);
        let answer = tokio::time::timeout(WAIT, answer).await.ok()?.ok()?;
        let text = answer["content"].as_str()?;
        (text.len() as u64 <= LARGEST).then(|| text.to_owned())
    }

    /// Returns the content of a file if the client has another one than the disk, or the same.
    /// `None` if only the executor behind this one can tell.
    async fn content(&self, path: &Path) -> Option<Vec<u8>> {
        if !self.through.reads {
            return None;
        }
        match self.inner.stat(path).await {
            Ok(Stat { kind: FileKind::File, size, .. }) if size <= LARGEST => {
                let disk = self.inner.read(path, LARGEST).await.ok()?;
                if disk.contains(&0) || std::str::from_utf8(&disk).is_err() {
                    return Some(disk);
                }
                match self.buffer(path).await {
                    Some(text) => Some(merged(disk, text)),
                    None => Some(disk),
                }
            }
            // A buffer that was never saved.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                self.buffer(path).await.map(String::into_bytes)
            }
            _ => None,
        }
    }

    async fn write(&self, path: &Path, content: &[u8]) -> io::Result<()> {
        let Some(text) = self.text_to_write(path, content).await else {
            return self.inner.replace(path, content).await;
        };
        let Some(session) = self.reporter.session() else {
            return self.inner.replace(path, content).await;
        };
        let before = self.inner.read(path, LARGEST + 1).await.ok();
        let params = json!({ "sessionId": session, "path": path.to_str(), "content": text });
        let written = tokio::time::timeout(WAIT, self.client.call("fs/write_text_file", params));
        match written.await {
            Ok(Ok(_)) => {
                let after = self.inner.read(path, LARGEST + 1).await.ok();
                // A client that formats what it saves leaves a third content, which is its right.
                if after.is_none() || (after == before && after.as_deref() != Some(content)) {
                    return self.inner.replace(path, content).await;
                }
                Ok(())
            }
            // Such as for a file outside of the project of the editor.
            Ok(Err(_)) => self.inner.replace(path, content).await,
            Err(_) => {
                let path = path.display();
                let problem = format!("the client did not confirm that it wrote {path}");
                Err(io::Error::new(io::ErrorKind::TimedOut, problem))
            }
        }
    }

    /// Returns the content as a text if the client can write it.
    async fn text_to_write<'a>(&self, path: &Path, content: &'a [u8]) -> Option<&'a str> {
        if !self.through.writes || content.len() as u64 > LARGEST || path.to_str().is_none() {
            return None;
        }
        match self.inner.stat(path).await {
            Ok(stat) if stat.kind != FileKind::File => None,
            Err(error) if error.kind() != io::ErrorKind::NotFound => None,
            _ => std::str::from_utf8(content).ok(),
        }
    }
}

/// Returns the content of a file from its bytes on the disk and its text in the client. Editors
/// change line ends and byte order marks of the text, which is no change of the user.
fn merged(disk: Vec<u8>, text: String) -> Vec<u8> {
    const MARK: &str = "\u{feff}";
    let Ok(saved) = std::str::from_utf8(&disk) else { return disk };
    let plain = |text: &str| text.trim_start_matches(MARK).replace("\r\n", "\n");
    if plain(saved) == plain(&text) {
        return disk;
    }
    let mut text = text;
    let line_feeds = saved.matches('\n').count();
    if line_feeds > 0 && saved.matches("\r\n").count() == line_feeds && !text.contains('\r') {
        text = text.replace('\n', "\r\n");
    }
    if saved.starts_with(MARK) && !text.starts_with(MARK) {
        text.insert_str(0, MARK);
    }
    text.into_bytes()
}

// A method of the trait that is not forwarded would silently change the executor.
#[deny(clippy::missing_trait_methods)]
impl Executor for ClientExecutor {
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>> {
        Box::pin(async move {
            match self.inner.stat(path).await {
                Err(error) if error.kind() == io::ErrorKind::NotFound && self.through.reads => {
                    let text = self.buffer(path).await.ok_or(error)?;
                    let size = text.len() as u64;
                    Ok(Stat { kind: FileKind::File, size, modified: None })
                }
                // The length of what is read: a buffer with unsaved changes has another one than the
                // file.
                Ok(stat) if stat.kind == FileKind::File && stat.size <= LARGEST => {
                    match self.content(path).await {
                        Some(content) => Ok(Stat { size: content.len() as u64, ..stat }),
                        None => Ok(stat),
                    }
                }
                found => found,
            }
        })
    }

    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        Box::pin(async move {
            match self.content(path).await {
                Some(mut content) => {
                    content.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
                    Ok(content)
                }
                None => self.inner.read(path, limit).await,
            }
        })
    }

    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn io::Read + Send>>> {
        Box::pin(async move {
            match self.content(path).await {
                Some(content) => Ok(Box::new(io::Cursor::new(content)) as Box<dyn io::Read + Send>),
                None => self.inner.open(path).await,
            }
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(self.write(path, content))
    }

    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        self.inner.create_directory(path)
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>> {
        self.inner.list(path)
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>> {
        self.inner.canonical(path)
    }

    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        self.inner.check_writable(path)
    }

    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        match self.reporter.session() {
            Some(session) if self.through.commands => {
                Box::pin(terminal::spawn(&self.client, session, &self.reporter, command))
            }
            _ => self.inner.spawn(command),
        }
    }

    fn spawn_piped<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<PipedProcess>> {
        self.inner.spawn_piped(command)
    }

    fn host_path(&self, path: &Path) -> Option<PathBuf> {
        self.inner.host_path(path)
    }

    fn map_command_path(&self, path: PathBuf) -> PathBuf {
        self.inner.map_command_path(path)
    }

    fn hidden_paths(&self) -> Option<PathPredicate> {
        self.inner.hidden_paths()
    }

    fn tree<'a>(
        &'a self,
        path: &'a Path,
        limit: usize,
    ) -> BoxFuture<'a, io::Result<Vec<TreeEntry>>> {
        self.inner.tree(path, limit)
    }

    fn read_many<'a>(
        &'a self,
        paths: &'a [PathBuf],
        limit: u64,
    ) -> BoxFuture<'a, io::Result<Vec<io::Result<Vec<u8>>>>> {
        self.inner.read_many(paths, limit)
    }
}

#[cfg(test)]
mod tests {
    use super::merged;

    #[test]
    fn line_ends_and_marks_are_those_of_the_disk() {
        let cases = [
            ("a\r\nb\r\n", "a\nb\n", "a\r\nb\r\n"),
            ("\u{feff}a\n", "a\n", "\u{feff}a\n"),
            ("a\r\nb\r\n", "a\nc\n", "a\r\nc\r\n"),
            ("\u{feff}a\n", "b\n", "\u{feff}b\n"),
            ("a\nb\r\n", "a\nc\n", "a\nc\n"),
            ("a", "b\n", "b\n"),
        ];
        for (disk, text, expected) in cases {
            let content = merged(disk.as_bytes().to_vec(), text.to_owned());
            assert_eq!(content, expected.as_bytes(), "{disk:?} {text:?}");
        }
    }
}
