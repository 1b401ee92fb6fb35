//! Packages of npm registries, without npm.
//!
//! `project` is the entry: a directory with `package.json` and `node_modules`. `resolve` chooses
//! versions with the metadata of `registry` and the `lockfile`, `tree` places packages, `unpack`
//! writes their archives, `journal` makes the change in one step. `command` runs an external npm
//! instead.

mod command;
mod config;
mod integrity;
mod journal;
mod lockfile;
mod manifest;
mod project;
mod range;
mod registry;
mod resolve;
mod spec;
mod tree;
mod unpack;
mod version;

pub(crate) use command::NpmCommand;
pub use config::RegistryConfig;
pub(crate) use journal::{is_interrupted, recover};
pub use project::Changed;
pub use project::installed_version;
pub(crate) use project::{Change, Project, direct_dependencies};
pub use range::Range;
pub(crate) use registry::Registry;
pub(crate) use spec::Spec;
pub use version::Version;
