//! Sessions of pi: conversations as append-only trees in JSONL files, with compaction, search and
//! export.
//!
//! A session is a file of JSON lines in the format of the TypeScript pi. Every entry names its
//! parent, so the entries form a tree: going back and trying again adds a branch and removes
//! nothing. The context of a model is computed from one path through that tree.
//!
//! ```
//! use pi_protocol::Message;
//! use pi_session::Session;
//!
//! let mut session = Session::in_memory("/proj");
//! let question = session.append_message(Message::user("What is this?"))?;
//! session.append_message(Message::user("Never mind."))?;
//! session.branch(&question)?; // the second message stays, on its own branch
//! assert_eq!(session.context()?.messages.len(), 1);
//! assert_eq!(session.len(), 2);
//! # Ok::<(), pi_session::SessionError>(())
//! ```
//!
//! # What this crate does not know
//!
//! Agents, tools (their effects come from an [`EffectsResolver`]), terminals, providers (a model
//! that summarizes is a [`Provider`](pi_protocol::Provider)), the user's home directory and
//! settings files: the caller says where files are.
//!
//! # Where to start reading
//!
//! [`Session`] is the entry point. `log` holds the bytes on disk, `tree` the links between entries,
//! `projection` computes the messages of entries for a model, [`compaction`] shortens long
//! conversations, `index` lists and searches sessions, and `export` (a feature) writes them as HTML
//! and Markdown.

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
