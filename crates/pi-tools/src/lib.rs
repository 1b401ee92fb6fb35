//! The coding tools of pi: exact in their results and atomic in their effects.
//!
#![doc = include_str!("../README.md")]
//!
//! # What this crate must not know
//!
//! Models, sessions, terminals, settings files, the environment and the home directory. The
//! application that creates a workspace passes in what the tools need of them.
//!
//! # Where to start reading
//!
//! `executor.rs` gives access to files and processes, `workspace.rs` is the state that tools share,
//! `read.rs` is a tool; the others have the same shape. `toolset.rs` lists them. `supervisor.rs`
//! ends processes.

mod attach;
mod background;
mod bash;
mod builtin;
mod call;
mod change;
pub mod checkpoint;
pub mod collation;
mod edit;
mod executor;
mod find;
mod grep;
mod image;
mod listing;
mod locks;
mod ls;
mod mirror;
mod os_error;
mod output;
mod paths;
mod process;
mod read;
mod seen;
pub mod supervisor;
mod terminal_text;
pub mod toolset;
mod truncate;
mod walk;
mod workspace;
mod write;

pub use attach::{AttachedFile, Attachment, attach};
pub use background::{BackgroundId, BackgroundInfo, BackgroundProcesses, BackgroundState};
pub use bash::{CommandResult, bash, run_command};
pub use edit::{edit, preview_edit};
pub use executor::{
    Aftermath, BaseEnvironment, BoxFuture, Command, ConnectError, ConnectOptions,
    ConnectedExecutor, DirectoryEntry, Executor, ExecutorSpec, FileKind, Host, ParseExecutorError,
    PathPredicate, PipedProcess, Process, ProcessTree, Stat, TreeEntry, connect,
};
pub use find::find;
pub use grep::grep;
pub use image::{FittedImages, ImageSettings, fit_images};
pub use ls::ls;
pub use process::process;
pub use read::read;
pub use seen::ChangedFilePolicy;
pub use truncate::{TruncatedBy, Truncation};
pub use workspace::{BashSettings, Workspace};
pub use write::write;
