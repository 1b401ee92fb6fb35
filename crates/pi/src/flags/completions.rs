//! `pi completions`: the tables as scripts for shells.
//!
//! Each place where something can be typed is a [`Place`]: `pi` itself, and every command. The
//! shells differ only in how they are told about it.

mod bash;
mod fish;
mod zsh;

use super::commands::COMMANDS;
use super::options::all;
use super::{Command, Completes, Flag, Group, Words};

/// The script for a shell; `None` if there is none for it.
pub(crate) fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash::script()),
        "zsh" => Some(zsh::script()),
        "fish" => Some(fish::script()),
        _ => None,
    }
}

/// Where something can be typed.
struct Place {
    /// The commands that lead there.
    path: Vec<&'static str>,
    flags: Vec<Flag>,
    commands: &'static [Command],
    words: Words,
}

/// All of them, `pi` itself first.
fn places() -> Vec<Place> {
    let words = Words { completes: Completes::Files, ..Command::new("", "").words };
    let flags = all().map(|option| option.flag).collect();
    let mut places = vec![Place { path: Vec::new(), flags, commands: COMMANDS, words }];
    add(&mut places, &[], COMMANDS);
    places
}

fn add(places: &mut Vec<Place>, path: &[&'static str], commands: &'static [Command]) {
    for command in commands.iter().filter(|command| command.later.is_none()) {
        let path = [path, &[command.name]].concat();
        let mut flags = command.flags.to_vec();
        flags.push(Flag::new("help", Group::General, "Show the help of this command").short("h"));
        // `pi help` is followed by a command, like `pi` itself.
        let inner = if command.name == "help" { COMMANDS } else { command.commands };
        places.push(Place { path: path.clone(), flags, commands: inner, words: command.words });
        add(places, &path, command.commands);
    }
}

impl Place {
    /// Its commands that are there.
    fn commands(&self) -> impl Iterator<Item = &'static Command> {
        self.commands.iter().filter(|command| command.later.is_none())
    }
}
