//! Programs that may start a command that a rule matches: unknown programs with such a command in
//! their arguments, copies of programs, and programs that the script creates.

use std::path::PathBuf;

use super::check::Checker;
use super::rule::{Match, Program};
use super::{CommandRule, files};
use crate::Decision;
use crate::programs::{self, Runs, Trait};
use crate::shell::{self, Analysis, Command, RedirectAccess, Role, Word, base_name};

impl Checker<'_> {
    /// Checks what a command may start. Returns true if that is unknown.
    pub(super) fn may_start(&mut self, command: &Command, text: &str) -> bool {
        let Some(base) = command.base() else { return false };
        if command.role != Role::Plain {
            return false;
        }
        let written = command.program().unwrap_or_default();
        let is_path = written.contains('/');
        if is_path && self.candidates(written).iter().any(|path| self.created.contains(path)) {
            self.unknown(text, "the script creates this program");
            return true;
        }
        let program = programs::find(base);
        if program.has(Trait::Copies) && self.copies_program(command) {
            self.unknown(text, "it copies or renames a program that a rule matches");
            return true;
        }
        let is_inert = matches!(
            program.runs,
            Runs::Nothing | Runs::Alias | Runs::Awk | Runs::Builtin(_) | Runs::Sed
        );
        if is_inert && !is_path {
            return false;
        }
        let Some(rule) = self.started_rule(command) else { return false };
        let reason = format!("it may start a command that a rule matches ({})", rule.origin);
        self.unknown(text, &reason);
        true
    }

    /// Returns a rule that matches the arguments of a command, if they are a command.
    fn started_rule(&self, command: &Command) -> Option<&CommandRule> {
        for at in 1..command.words.len() {
            let Some(argument) = command.words[at].literal() else { continue };
            let value = argument.split_once('=').map_or(argument, |(_, value)| value);
            let words = std::iter::once(Word::plain(value)).chain(command.words[at + 1..].to_vec());
            let inner = Command { words: words.collect(), ..Command::default() };
            if let Some(rule) = self.strict_rule(&inner) {
                return Some(rule);
            }
            // A text that may be a script is analyzed only if it names the program of a rule.
            if !value.contains(char::is_whitespace)
                || !self.strict_programs().any(|name| value.contains(name))
            {
                continue;
            }
            let analysis = shell::analyze(value);
            if let Some(rule) = analysis.commands.iter().find_map(|inner| self.strict_rule(inner)) {
                return Some(rule);
            }
        }
        None
    }

    fn strict_rule(&self, command: &Command) -> Option<&CommandRule> {
        let program = Program { written: command.program()?, real: None };
        let matches = |rule: &&CommandRule| rule.matches(command, &program, &|_, _| false);
        self.strict_commands().find(|rule| matches(rule) != Match::No)
    }

    fn strict_commands(&self) -> impl Iterator<Item = &CommandRule> {
        self.policy.rules.commands.iter().filter(|rule| rule.decision > Decision::Allow)
    }

    /// Returns the programs of the rules that ask or forbid.
    fn strict_programs(&self) -> impl Iterator<Item = &str> {
        self.strict_commands().filter_map(|rule| rule.prefix.first()).flatten().map(String::as_str)
    }

    /// Returns true if an operand is a program that a rule matches.
    fn copies_program(&self, command: &Command) -> bool {
        command.words.iter().skip(1).any(|word| {
            let text = word.literal().unwrap_or_else(|| word.raw());
            let text = text.strip_prefix("if=").unwrap_or(text).trim_end_matches([')', '"', '`']);
            let name = base_name(text).rsplit(char::is_whitespace).next().unwrap_or_default();
            // By a path, or through `$(which …)`; a bare name is a file of the project.
            text.contains(['/', '$', '`'])
                && self.strict_programs().any(|known| base_name(known).eq_ignore_ascii_case(name))
        })
    }

    /// Notes the files that a script creates, to recognize them when the script runs one.
    pub(super) fn note_created(&mut self, analysis: &Analysis) {
        if !analysis.commands.iter().any(|c| c.program().is_some_and(|p| p.contains('/'))) {
            return;
        }
        let mut created: Vec<PathBuf> = Vec::new();
        for command in &analysis.commands {
            let targets = command.redirects.iter().filter(|r| r.access != RedirectAccess::Read);
            let mut words: Vec<Word> = targets.map(|redirect| redirect.target.clone()).collect();
            if let (written, true) = files::written(command) {
                words.extend(written);
            }
            for text in words.iter().filter_map(Word::literal) {
                created.extend(self.candidates(text));
                if let Some((_, value)) = text.split_once('=') {
                    created.extend(self.candidates(value));
                }
            }
        }
        created.retain(|path| path != self.context.cwd);
        self.created = created;
    }
}
