//! `pi man`: the manual page, in roff.

use super::commands::COMMANDS;
use super::options::all;
use super::texts::{ABOUT, EXAMPLES, USAGE, VARIABLES, WORDS};
use super::{Command, Flag, Group};
use crate::exit::Exit;

/// Returns the manual page.
pub(crate) fn page() -> String {
    let mut page = format!(
        ".TH PI 1 \"\" \"pi {}\" \"User Commands\"\n.SH NAME\npi \\- {ABOUT}\n.SH SYNOPSIS\n",
        env!("CARGO_PKG_VERSION")
    );
    for usage in USAGE {
        page.push_str(&format!("{}\n.br\n", text(usage)));
    }
    page.push_str(&format!(".SH DESCRIPTION\n{}\n.SH OPTIONS\n", text(WORDS)));
    for group in Group::ALL {
        page.push_str(&format!(".SS {}\n", text(group.title())));
        let options = all().filter(|option| option.flag.group == *group);
        options.for_each(|option| flag(&mut page, &option.flag));
    }
    page.push_str(".SH COMMANDS\n");
    COMMANDS.iter().for_each(|one| command(&mut page, "pi", one));
    page.push_str(".SH EXAMPLES\n");
    for (command, what) in EXAMPLES {
        tagged(&mut page, command, what);
    }
    page.push_str(".SH ENVIRONMENT\n");
    VARIABLES.iter().for_each(|(name, what)| tagged(&mut page, name, what));
    page.push_str(".SH EXIT STATUS\n");
    for exit in Exit::EXITS {
        tagged(&mut page, &exit.exit_code().to_string(), exit.row().sentence);
    }
    page
}

fn command(page: &mut String, before: &str, command: &Command) {
    let name = format!("{before} {}", command.name);
    page.push_str(&format!(
        ".SS {}{}\n{}.\n",
        text(&name),
        text(&command.usage()),
        text(command.help)
    ));
    for line in command.details.lines() {
        page.push_str(&format!(".PP\n{}\n", text(line)));
    }
    command.flags.iter().for_each(|one| flag(page, one));
    if !command.examples.is_empty() {
        page.push_str(".PP\nExamples:\n.PP\n.nf\n");
        command.examples.iter().for_each(|line| page.push_str(&format!("{}\n", text(line))));
        page.push_str(".fi\n");
    }
    command.commands.iter().for_each(|inner| self::command(page, &name, inner));
}

fn flag(page: &mut String, flag: &Flag) {
    tagged(page, &flag.usage(), &flag.description());
}

fn tagged(page: &mut String, tag: &str, about: &str) {
    page.push_str(&format!(".TP\n.B {}\n{}\n", text(tag), text(about)));
}

/// Escapes a text for roff: dashes stay dashes, and no line is a request.
fn text(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace('-', "\\-");
    let guarded = if escaped.starts_with(['.', '\'']) { "\\&" } else { "" };
    format!("{guarded}{}", escaped.replace('"', "\\(dq"))
}
