//! The memory of pi: conversations as append-only trees that survive crashes, years of history
//! and two programs at once.
//!
//! A session is a file of JSON lines, the same that the TypeScript pi reads and writes. Its
//! entries name their parents and so form a tree: going back and trying again adds a branch and
//! removes nothing. What a model gets to read is computed from one path through that tree.
//!
//! ```
//! use pi_protocol::Message;
//! use pi_session::Session;
//!
//! let mut session = Session::in_memory("/proj");
//! let question = session.append_message(Message::user("What is this?"))?;
//! session.append_message(Message::user("Never mind."))?;
//! session.branch(&question)?; // the second message is still there, on its own branch
//! assert_eq!(session.context()?.messages.len(), 1);
//! assert_eq!(session.len(), 2);
//! # Ok::<(), pi_session::SessionError>(())
//! ```
//!
//! # What this crate must not know
//!
//! Agents, tools, terminals, providers (a model that summarises is a
//! [`Provider`](pi_protocol::Provider)), the user's home directory and settings files: whoever
//! uses it says where files are.
//!
//! # Where to start reading
//!
//! [`Session`] is the whole; `log` is bytes on disk, `tree` is which entry follows which,
//! `projection` is what entries mean to a model, [`compaction`] is how a long conversation is made
//! short, `index` finds one among many, `export` (a feature) is what it looks like to people.

pub mod compaction;
mod effects;
mod error;
#[cfg(feature = "export")]
mod export;
mod files;
mod index;
mod info;
mod log;
mod migrate;
mod projection;
mod roles;
mod searchable;
mod session;
mod time;
mod tree;

pub use effects::EffectsResolver;
pub use error::SessionError;
#[cfg(feature = "export")]
pub use export::{HtmlOptions, MarkdownOptions, ToolDetail};
pub use files::{find_by_id, most_recent, read_header, session_directory, session_files};
pub use index::{
    ListOptions, Listing, SearchHit, SearchOptions, SearchResults, SessionIndex, Snippet,
};
pub use info::SessionInfo;
pub use log::Access;
pub use migrate::migrate;
pub use projection::{ModelRef, ProjectedEntry, project, text_of};
pub use roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage, to_llm,
};
pub use searchable::TextKind;
pub use session::{
    DamagedLine, Fork, ForkPosition, NewSession, OpenOptions, Outline, Session, SessionContext,
    SessionStats, TokenTotals, TreeNode, TreeView,
};
