//! `docs/cli.md`: the same as the manual page, for people who read it in a browser.

use super::commands::COMMANDS;
use super::options::all;
use super::texts::{EXAMPLES, USAGE, VARIABLES, WORDS};
use super::{Command, Flag, Group};
use crate::exit::Exit;

/// Returns the page.
pub(crate) fn page() -> String {
    let mut page = "# The command line\n\n\
        Generated from the tables in `crates/pi/src/flags` by `cargo xtask cli-docs`.\n\n"
        .to_owned();
    USAGE.iter().for_each(|usage| page.push_str(&format!("    {usage}\n")));
    page.push_str(&format!("\n{WORDS}\n\n## Options\n"));
    for group in Group::ALL {
        page.push_str(&format!("\n### {}\n\n", group.title()));
        let options = all().filter(|option| option.flag.group == *group);
        options.for_each(|option| flag(&mut page, &option.flag));
    }
    page.push_str("\n## Commands\n");
    COMMANDS.iter().for_each(|one| command(&mut page, "pi", one));
    page.push_str("\n## Examples\n\n");
    for (command, what) in EXAMPLES {
        page.push_str(&format!("- `{command}`: {what}\n"));
    }
    page.push_str("\n## Environment\n\n");
    VARIABLES.iter().for_each(|(name, what)| page.push_str(&format!("- `{name}`: {what}\n")));
    page.push_str("\n## Exit codes\n\n| Code | Meaning |\n|---|---|\n");
    for exit in Exit::EXITS {
        page.push_str(&format!("| {} | {} |\n", exit.exit_code(), exit.row().sentence));
    }
    page
}

fn command(page: &mut String, before: &str, command: &Command) {
    let name = format!("{before} {}", command.name);
    page.push_str(&format!("\n### `{name}{}`\n\n{}.\n", command.usage(), command.help));
    for line in command.details.lines() {
        page.push_str(&format!("\n{line}\n"));
    }
    if !command.flags.is_empty() {
        page.push('\n');
        command.flags.iter().for_each(|one| flag(page, one));
    }
    if !command.examples.is_empty() {
        page.push_str("\nExamples:\n\n");
        command.examples.iter().for_each(|line| page.push_str(&format!("    {line}\n")));
    }
    command.commands.iter().for_each(|inner| self::command(page, &name, inner));
}

fn flag(page: &mut String, flag: &Flag) {
    page.push_str(&format!("- `{}`: {}\n", flag.usage(), flag.description()));
}
