//! Files and commands of a tool that an extension created: those of this machine, or operations of
//! the extension.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use pi_guard::confine::Examination;
use pi_tools::{
    BaseEnvironment, BoxFuture, Command, DirectoryEntry, Executor, FileKind, Host as Local,
    Process, ProcessTree, Stat,
};
use serde_json::{Value, json};

use super::operations::{Answer, Operations};
use crate::access::{Access, Launch};
use crate::error::NativeError;
use crate::native::child::running::examine;

/// An executor with the operations of an extension where it has some.
#[derive(Debug)]
pub(super) struct ExtensionExecutor {
    local: Local,
    access: Access,
    operations: Arc<Operations>,
}

impl ExtensionExecutor {
    pub(super) fn new(access: Access, operations: Arc<Operations>) -> Self {
        Self { local: Local::default(), access, operations }
    }

    async fn ask(&self, name: &str, path: &Path) -> io::Result<Answer> {
        self.operations.ask(name, &json!([path.to_string_lossy()])).await
    }

    /// Asks for access to a command, and returns the one that may run.
    async fn permitted(
        &self,
        command: &Command,
    ) -> Result<(Command, Option<Arc<Examination>>), NativeError> {
        if self.access.is_trusted() {
            return Ok((command.clone(), None));
        }
        let permission = self.access.run(Launch {
            program: command.program.clone().into(),
            arguments: command.arguments.clone(),
            cwd: command.cwd.clone(),
            variables: command.environment.clone().into_iter().collect(),
            search: None,
            confined: None,
        })?;
        let Launch { program, arguments, cwd, variables, confined, .. } =
            permission.later().await?;
        let mut permitted = command.clone();
        (permitted.program, permitted.arguments, permitted.cwd) = (program.into(), arguments, cwd);
        permitted.environment = variables.into_iter().collect();
        if confined.is_some() {
            permitted.base_environment = BaseEnvironment::Empty;
        }
        Ok((permitted, confined))
    }

    async fn is_directory(&self, path: &Path) -> io::Result<bool> {
        let name = if self.operations.has("isDirectory") { "isDirectory" } else { "stat" };
        Ok(matches!(self.ask(name, path).await?, Answer::Value(Value::Bool(true))))
    }

    /// Returns the kind of a file as far as the operations tell.
    async fn remote_stat(&self, path: &Path) -> io::Result<Stat> {
        let operations = &self.operations;
        if operations.has("exists") {
            let exists = self.ask("exists", path).await?;
            if !matches!(exists, Answer::Value(Value::Bool(true))) {
                return Err(io::ErrorKind::NotFound.into());
            }
        }
        let kind = if operations.has("isDirectory") || operations.has("stat") {
            if self.is_directory(path).await? { FileKind::Directory } else { FileKind::File }
        } else if operations.has("exec") || operations.has("mkdir") {
            // A tool that runs commands or writes only asks whether a place is usable.
            return Ok(Stat { kind: FileKind::Directory, size: 0, modified: None });
        } else {
            self.ask("access", path).await?;
            FileKind::File
        };
        Ok(Stat { kind, size: 0, modified: None })
    }
}

fn denied(error: NativeError) -> io::Error {
    io::Error::new(io::ErrorKind::PermissionDenied, error.message)
}

impl Executor for ExtensionExecutor {
    fn stat<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Stat>> {
        Box::pin(async move {
            if self.operations.any() && !self.operations.has("exec") {
                return self.remote_stat(path).await;
            }
            self.access.read(path).map_err(denied)?;
            match self.local.stat(path).await {
                // The directory and shell of a remote command are not here.
                Err(_) if self.operations.has("exec") => {
                    Ok(Stat { kind: FileKind::File, size: 0, modified: None })
                }
                found => found,
            }
        })
    }

    fn read<'a>(&'a self, path: &'a Path, limit: u64) -> BoxFuture<'a, io::Result<Vec<u8>>> {
        Box::pin(async move {
            if !self.operations.has("readFile") {
                self.access.read(path).map_err(denied)?;
                return self.local.read(path, limit).await;
            }
            let mut content = match self.ask("readFile", path).await? {
                Answer::Bytes(bytes) => bytes,
                Answer::Value(Value::String(text)) => text.into_bytes(),
                Answer::Value(_) => return Err(io::Error::other("readFile returned no content")),
            };
            content.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
            Ok(content)
        })
    }

    fn open<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Box<dyn io::Read + Send>>> {
        Box::pin(async move {
            if !self.operations.has("readFile") {
                self.access.read(path).map_err(denied)?;
                return self.local.open(path).await;
            }
            let content = self.read(path, u64::MAX).await?;
            Ok(Box::new(io::Cursor::new(content)) as Box<dyn io::Read + Send>)
        })
    }

    fn replace<'a>(&'a self, path: &'a Path, content: &'a [u8]) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            if !self.operations.has("writeFile") {
                self.access.write(path).map_err(denied)?;
                return self.local.replace(path, content).await;
            }
            let text = String::from_utf8_lossy(content);
            let arguments = json!([path.to_string_lossy(), text]);
            self.operations.ask("writeFile", &arguments).await.map(drop)
        })
    }

    fn create_directory<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            if self.operations.has("mkdir") {
                return self.ask("mkdir", path).await.map(drop);
            }
            if self.operations.any() {
                return Ok(());
            }
            self.access.write(path).map_err(denied)?;
            self.local.create_directory(path).await
        })
    }

    fn list<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<Vec<DirectoryEntry>>> {
        Box::pin(async move {
            if !self.operations.has("readdir") {
                self.access.read(path).map_err(denied)?;
                return self.local.list(path).await;
            }
            let Answer::Value(Value::Array(names)) = self.ask("readdir", path).await? else {
                return Err(io::Error::other("readdir returned no list"));
            };
            let mut entries = Vec::new();
            for name in names.iter().filter_map(Value::as_str) {
                let is_directory = self.is_directory(&path.join(name)).await.unwrap_or(false);
                let kind = if is_directory { FileKind::Directory } else { FileKind::File };
                entries.push(DirectoryEntry { name: name.to_owned(), kind });
            }
            Ok(entries)
        })
    }

    fn canonical<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<PathBuf>> {
        Box::pin(async move {
            if self.operations.any() {
                return Ok(path.to_owned());
            }
            self.access.read(path).map_err(denied)?;
            self.local.canonical(path).await
        })
    }

    fn check_writable<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, io::Result<()>> {
        Box::pin(async move {
            if self.operations.has("access") {
                return self.ask("access", path).await.map(drop);
            }
            if self.operations.any() {
                return Ok(());
            }
            self.access.write(path).map_err(denied)?;
            self.local.check_writable(path).await
        })
    }

    fn spawn<'a>(&'a self, command: &'a Command) -> BoxFuture<'a, io::Result<Process>> {
        Box::pin(async move {
            if !self.operations.has("exec") {
                let (command, confined) = self.permitted(command).await.map_err(denied)?;
                let mut process = self.local.spawn(&command).await?;
                let exit = process.exit;
                process.exit = Box::pin(async move {
                    let exit = exit.await;
                    examine(confined).await;
                    exit
                });
                return Ok(process);
            }
            let text = command.arguments.last().map(|text| text.to_string_lossy().into_owned());
            let variables: serde_json::Map<String, Value> = command
                .environment
                .iter()
                .map(|(name, value)| {
                    (name.to_string_lossy().into_owned(), value.to_string_lossy().into())
                })
                .collect();
            let arguments = json!([text, command.cwd.to_string_lossy(), variables]);
            let (output, answer, lease) = self.operations.run(&arguments);
            let exit = Box::pin(async move {
                let answer = answer.await;
                let answer =
                    answer.unwrap_or_else(|_| Err(io::Error::other("the command was aborted")))?;
                let Answer::Value(value) = answer else { return Ok(None) };
                let code = value.get("exitCode").and_then(Value::as_i64);
                Ok(code.and_then(|code| i32::try_from(code).ok()))
            });
            let tree = ProcessTree::new(lease, Box::pin(std::future::ready(())));
            Ok(Process { output: Box::pin(output), exit, tree })
        })
    }

    fn host_path(&self, path: &Path) -> Option<PathBuf> {
        // A search through this path reads without asking; what may not be read is listed instead,
        // which is refused.
        if self.operations.has("readdir") || self.access.read(path).is_err() {
            return None;
        }
        self.local.host_path(path)
    }
}
