//! Programs that nobody listed as starting others, but that are given what a rule is about; and
//! programs that the script makes for itself.

use std::path::PathBuf;

use super::check::Check;
use super::rule::{Fit, Program};
use super::{CommandRule, files};
use crate::Decision;
use crate::programs::{self, Runs, Trait};
use crate::shell::{self, Access, Analysis, Command, Role, Word, base_name};

impl Check<'_> {
    /// Notes what a command that is not known may start; says whether that decided.
    pub(super) fn may_start(&mut self, command: &Command, text: &str) -> bool {
        let Some(base) = command.base().filter(|_| command.role == Role::Plain) else {
            return false;
        };
        let written = command.program().unwrap_or_default();
        let made = written.contains('/') && {
            let candidates = self.candidates(written);
            self.made.iter().any(|made| candidates.contains(made))
        };
        if made {
            self.unknown(text, "the script makes this program itself");
        }
        let program = programs::find(base);
        let is_inert = matches!(
            program.runs,
            Runs::Nothing | Runs::Alias | Runs::Awk | Runs::Builtin(_) | Runs::Sed
        );
        let copied = program.has(Trait::Copies) && self.copies(command);
        if copied {
            self.unknown(text, "it gives another name to a program that a rule is about");
        }
        if made || copied || is_inert && !written.contains('/') {
            return made || copied;
        }
        let Some(origin) = self.started(command) else { return false };
        self.unknown(text, &format!("it may start what a rule is about ({origin})"));
        true
    }

    /// The rule that is about something among the arguments, if they are a command.
    fn started(&self, command: &Command) -> Option<String> {
        for at in 1..command.words.len() {
            let Some(argument) = command.words[at].literal() else { continue };
            let value = argument.split_once('=').map_or(argument, |(_, value)| value);
            let words = std::iter::once(Word::plain(value)).chain(command.words[at + 1..].to_vec());
            let inner = Command { words: words.collect(), ..Command::default() };
            if let Some(rule) = self.strict_rule(&inner) {
                return Some(rule.origin.clone());
            }
            // Text that would be a script: worth reading only if it names what a rule is about.
            if !value.contains(char::is_whitespace) || !self.is_named(value) {
                continue;
            }
            let analysis = shell::analyze(value);
            if let Some(rule) = analysis.commands.iter().find_map(|inner| self.strict_rule(inner)) {
                return Some(rule.origin.clone());
            }
        }
        None
    }

    fn strict_rule(&self, command: &Command) -> Option<&CommandRule> {
        let written = command.program()?;
        let program = Program { written, real: None };
        self.strict_commands().find(|rule| rule.fit(command, &program, &|_, _| false) != Fit::No)
    }

    fn strict_commands(&self) -> impl Iterator<Item = &CommandRule> {
        self.policy.rules.commands.iter().filter(|rule| rule.decision > Decision::Allow)
    }

    fn is_named(&self, text: &str) -> bool {
        self.strict_commands()
            .filter_map(|rule| rule.prefix.first())
            .flatten()
            .any(|name| text.contains(name.as_str()))
    }

    /// Whether a program that a rule is about is among the operands.
    fn copies(&self, command: &Command) -> bool {
        command.words.iter().skip(1).any(|word| {
            let text = word.literal().unwrap_or_else(|| word.raw());
            let text = text.strip_prefix("if=").unwrap_or(text).trim_end_matches([')', '"', '`']);
            let name = base_name(text).rsplit(char::is_whitespace).next().unwrap_or_default();
            // By a path, or through `$(which …)`; a bare name is a file of the project.
            (text.contains('/') || text.contains('$') || text.contains('`'))
                && self
                    .strict_commands()
                    .filter_map(|rule| rule.prefix.first())
                    .any(|names| names.iter().any(|n| base_name(n).eq_ignore_ascii_case(name)))
        })
    }

    /// The files that a script makes, so that it can be told when it runs one of them.
    pub(super) fn files_made(&mut self, analysis: &Analysis) {
        let mut made: Vec<PathBuf> = Vec::new();
        if !analysis.commands.iter().any(|c| c.program().is_some_and(|p| p.contains('/'))) {
            return;
        }
        for command in &analysis.commands {
            let targets = command.redirects.iter().filter(|r| r.access != Access::Read);
            let targets = targets.map(|redirect| redirect.target.clone());
            let (written, certain) = files::written(command);
            let written = written.into_iter().filter(|_| certain);
            for word in targets.chain(written) {
                let Some(text) = word.literal() else { continue };
                made.extend(self.candidates(text));
                if let Some((_, value)) = text.split_once('=') {
                    made.extend(self.candidates(value));
                }
            }
        }
        made.retain(|path| path != self.context.cwd);
        self.made = made;
    }
}
