//! Sessions of pi as append-only trees in JSONL files.
//!
#![doc = include_str!("../README.md")]
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

mod cache_miss;
pub mod compaction;
mod directory_text;
mod effects;
mod error;
#[cfg(feature = "export")]
mod export;
mod files;
mod index;
mod info;
mod log;
mod migrate;
mod own_words;
mod projection;
mod roles;
mod searchable;
mod session;
mod time;
mod tree;

pub use cache_miss::{CACHE_MISS_ENTRY, CacheMiss, MissReason};
pub use directory_text::{directory_from_text, directory_to_text};
pub use effects::EffectsResolver;
pub use error::SessionError;
#[cfg(feature = "export")]
pub use export::{ENTRY_STYLE, EntryRenderer, HtmlOptions, MarkdownOptions, ToolDetail, escaped};
pub use files::{
    find_by_id, most_recent, newer_unreadable, read_header, session_directory, session_files,
};
pub use index::{ListOptions, Listing, SearchHit, SearchResults, SessionIndex, Snippet};
pub use info::SessionInfo;
pub use log::{Access, is_locked};
pub use migrate::migrate;
pub use projection::{ModelRef, ProjectedEntry, project, text_of};
pub use roles::{
    BashExecution, BranchSummaryMessage, CompactionSummaryMessage, ExtensionMessage, to_llm,
};
pub use searchable::TextKind;
pub use session::{
    CacheTotals, DamagedLine, EntryKind, Fork, ForkPosition, GrowthListener, NewSession,
    OpenOptions, Outline, Session, SessionContext, SessionStats, TokenTotals, TreeNode, TreeView,
};
