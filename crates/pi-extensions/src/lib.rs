//! Host for extensions in TypeScript and JavaScript, without Node.
//!
//! An extension of the TypeScript pi runs unmodified: its types are removed, its imports of pi's
//! packages and of Node's modules lead to modules of our own, and what it registers reaches a
//! session through `pi_coding_agent::extension`. This crate must not know the terminal of the
//! program, its modes or its command line; only it may know the JavaScript engine.
//!
//! Where to start reading:
//!
//! - `hosting`: [`ExtensionHost`], which opens files as extensions (`open`). `extension`: one of them;
//!   `registered`: what it registers.
//! - `thread`: a thread with a runtime. Everything on it is a task that was posted to it.
//! - `host`: the state of the thread; promises for Rust futures, replies of JavaScript promises.
//! - `source`: a file of TypeScript or JavaScript becomes a function.
//! - `modules` and `js/`: the modules that an import finds without a file.
//! - `native`: the functions of Rust that those modules use, one file per area.
//! - `process`: extensions that are programs of their own.
//! - `component` and `render`: what extensions draw, on a screen that does not wait for them.
//! - `access`: what the JavaScript may reach.
//! - `codemode`: scripts of the model that call tools, each on an engine of its own.

mod access;
mod actions;
pub mod check;
pub mod codemode;
mod component;
mod engine;
mod error;
mod extension;
mod host;
mod host_process;
mod hosting;
mod limits;
mod modules;
mod native;
mod open;
mod process;
mod registered;
mod render;
mod report;
mod resolve;
mod source;
pub mod testing;
mod thread;
mod value;

pub use access::{Access, Grant, InvalidRights, Rights};
pub use host_process::{
    InheritedStreams, OutputStream, OutputWriter, ProcessOptions, TerminalSize,
};
pub use hosting::{AccessRule, ExtensionAccess, ExtensionHost, HostOptions};
pub use limits::Limits;
pub use report::Report;
