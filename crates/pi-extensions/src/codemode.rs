//! Codemode: scripts of the model that call the tools of the session.
//!
//! `tool` is the `codemode` tool, `declare` what the model reads about it and about the tools that
//! scripts can call, `options_line` the first line of a script. `script` runs one on a thread and
//! an engine of its own, `workers` bounds how many there are, and `prelude.js` has the globals.
//! `calls` makes the calls that a script asks for, `catalog` finds tools, `typescript` declares
//! them, `store` keeps values between scripts, `output` becomes the result.
//!
//! A script reaches nothing but these globals. Every call that it makes is judged by the guard and
//! counted like a call of the model; the sandbox of the engine is not what protects the user.

mod calls;
mod catalog;
mod declare;
mod options_line;
mod output;
mod script;
mod store;
mod tool;
mod typescript;
mod workers;

pub use tool::builtin;

/// Name of the tool.
const CODEMODE: &str = "codemode";
