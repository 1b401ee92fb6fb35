//! `pi completions`: the tables as completion scripts for shells.
//!
//! Each node of the command tree, `pi` itself and every command, is a [`Node`]. The scripts differ
//! only in their syntax.

mod bash;
mod fish;
mod zsh;

use super::commands::COMMANDS;
use super::options::all;
use super::{Command, Completes, Flag, Group, Words};

/// Returns the script for a shell, or `None` if the shell is not supported.
pub(crate) fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash::script()),
        "zsh" => Some(zsh::script()),
        "fish" => Some(fish::script()),
        _ => None,
    }
}

/// A command with everything that can follow it; the root is `pi` itself.
struct Node {
    /// Names of the command and its parents.
    path: Vec<&'static str>,
    flags: Vec<Flag>,
    commands: &'static [Command],
    words: Words,
}

/// Returns all nodes, the root first.
fn nodes() -> Vec<Node> {
    let words = Words { completes: Completes::Files, ..Command::new("", "").words };
    let flags = all().map(|option| option.flag).collect();
    let mut nodes = vec![Node { path: Vec::new(), flags, commands: COMMANDS, words }];
    add(&mut nodes, &[], COMMANDS);
    nodes
}

fn add(nodes: &mut Vec<Node>, path: &[&'static str], commands: &'static [Command]) {
    for command in commands {
        let path = [path, &[command.name]].concat();
        let mut flags = command.flags.to_vec();
        flags.push(Flag::new("help", Group::General, "Show the help of this command").short("h"));
        // `pi help` is followed by a command, like `pi` itself.
        let inner = if command.name == "help" { COMMANDS } else { command.commands };
        nodes.push(Node { path: path.clone(), flags, commands: inner, words: command.words });
        add(nodes, &path, command.commands);
    }
}

impl Node {
    /// Returns true if an argument may be a file. A session may be one too.
    fn takes_files(&self) -> bool {
        matches!(self.words.completes, Completes::Files | Completes::Sessions)
    }
}
