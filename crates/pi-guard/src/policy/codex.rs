//! Rule files of Codex: a few calls in the syntax of Starlark, of which this reads only literals.

use super::file::{Example, RuleFile, Source, check_example, check_prefix};
use super::rule::CommandRule;
use super::{HostRule, PolicyError};
use crate::Decision;
use crate::shell;

/// How deep lists may nest. The format needs two.
const MAX_DEPTH: usize = 8;

#[derive(Debug, Clone, PartialEq)]
enum Value {
    Text(String),
    List(Vec<(usize, Value)>),
    Other,
}

type Arguments = Vec<(String, usize, Value)>;

pub(super) fn parse(source: &Source<'_>) -> Result<RuleFile, PolicyError> {
    let mut reader = Reader { source, at: 0 };
    let mut rules = RuleFile::default();
    loop {
        reader.skip();
        if reader.rest().is_empty() {
            return Ok(rules);
        }
        let start = reader.at;
        let name = reader.name()?;
        let arguments = reader.arguments()?;
        match name.as_str() {
            "prefix_rule" => {
                rules.commands.push(prefix_rule(&arguments, start, source)?);
                rules.examples += examples(&arguments);
            }
            "network_rule" => rules.hosts.push(network_rule(&arguments, start, source)?),
            "host_executable" => {
                let name = text(&arguments, "name", start, source)?;
                let paths = texts(&arguments, "paths", start, source)?;
                rules.executables.push((name, paths));
            }
            _ => return Err(source.error(start, format!("`{name}` is not a rule that is known"))),
        }
    }
}

fn prefix_rule(
    arguments: &Arguments,
    start: usize,
    source: &Source<'_>,
) -> Result<CommandRule, PolicyError> {
    let mut prefix = Vec::new();
    for (at, token) in list(arguments, "pattern", start, source)? {
        prefix.push(match token {
            Value::Text(word) => vec![word.clone()],
            Value::List(words) => strings(words, source)?,
            Value::Other => return Err(source.error(*at, "a pattern is made of strings")),
        });
    }
    let rule = CommandRule {
        prefix,
        decision: decision(arguments, start, source)?.unwrap_or(Decision::Allow),
        justification: find(arguments, "justification").and_then(|(_, value)| match value {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        }),
        origin: source.origin(start),
    };
    check_prefix(&rule, start, source)?;
    // Codex takes patterns literally. Here a rule that forbids fits other spellings too, so a
    // `not_match` is held against the literal reading.
    let literal = CommandRule { decision: Decision::Allow, ..rule.clone() };
    for (key, expected) in [("match", true), ("not_match", false)] {
        let Some((_, Value::List(examples))) = find(arguments, key) else { continue };
        for (at, example) in examples {
            let example = match example {
                Value::Text(line) if expected => Example::Line(line.clone()),
                Value::Text(line) => words_of(line),
                Value::List(words) => Example::Words(strings(words, source)?),
                Value::Other => return Err(source.error(*at, "an example is a string or a list")),
            };
            check_example(
                if expected { &rule } else { &literal },
                &example,
                expected,
                *at,
                source,
            )?;
        }
    }
    Ok(rule)
}

/// How many examples a rule has.
fn examples(arguments: &Arguments) -> usize {
    let given = ["match", "not_match"].into_iter().filter_map(|key| find(arguments, key));
    given.map(|(_, value)| if let Value::List(examples) = value { examples.len() } else { 0 }).sum()
}

/// The words of the first command in a line.
fn words_of(line: &str) -> Example {
    let commands = shell::analyse(line).commands;
    let words = commands.first().map(|c| c.words.iter().map(|w| w.raw().to_owned()).collect());
    Example::Words(words.unwrap_or_default())
}

fn network_rule(
    arguments: &Arguments,
    start: usize,
    source: &Source<'_>,
) -> Result<HostRule, PolicyError> {
    Ok(HostRule {
        hosts: vec![text(arguments, "host", start, source)?],
        decision: decision(arguments, start, source)?.unwrap_or(Decision::Allow),
        justification: text(arguments, "justification", start, source).ok(),
        origin: source.origin(start),
    })
}

fn find<'a>(arguments: &'a Arguments, key: &str) -> Option<(usize, &'a Value)> {
    arguments.iter().find(|(name, ..)| name == key).map(|(_, at, value)| (*at, value))
}

fn decision(
    arguments: &Arguments,
    start: usize,
    source: &Source<'_>,
) -> Result<Option<Decision>, PolicyError> {
    if find(arguments, "decision").is_none() {
        return Ok(None);
    }
    match text(arguments, "decision", start, source)?.as_str() {
        "allow" => Ok(Some(Decision::Allow)),
        "prompt" => Ok(Some(Decision::Ask)),
        "forbidden" | "deny" => Ok(Some(Decision::Forbid)),
        other => Err(source.error(start, format!("`{other}` is not a decision"))),
    }
}

fn text(
    arguments: &Arguments,
    key: &str,
    start: usize,
    source: &Source<'_>,
) -> Result<String, PolicyError> {
    match find(arguments, key) {
        Some((_, Value::Text(text))) => Ok(text.clone()),
        Some((at, _)) => Err(source.error(at, format!("`{key}` must be a string"))),
        None => Err(source.error(start, format!("`{key}` is missing"))),
    }
}

fn list<'a>(
    arguments: &'a Arguments,
    key: &str,
    start: usize,
    source: &Source<'_>,
) -> Result<&'a [(usize, Value)], PolicyError> {
    match find(arguments, key) {
        Some((_, Value::List(values))) => Ok(values),
        Some((at, _)) => Err(source.error(at, format!("`{key}` must be a list"))),
        None => Err(source.error(start, format!("`{key}` is missing"))),
    }
}

fn texts(
    arguments: &Arguments,
    key: &str,
    start: usize,
    source: &Source<'_>,
) -> Result<Vec<String>, PolicyError> {
    strings(list(arguments, key, start, source)?, source)
}

fn strings(values: &[(usize, Value)], source: &Source<'_>) -> Result<Vec<String>, PolicyError> {
    let each = values.iter().map(|(at, value)| match value {
        Value::Text(text) => Ok(text.clone()),
        _ => Err(source.error(*at, "a string is expected here")),
    });
    each.collect()
}

struct Reader<'a> {
    source: &'a Source<'a>,
    at: usize,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        self.source.text.get(self.at..).unwrap_or_default()
    }

    fn error<T>(&self, message: &str) -> Result<T, PolicyError> {
        Err(self.source.error(self.at, message))
    }

    /// Passes over white space and comments.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let blank = rest.len() - rest.trim_start().len();
            let comment = rest[blank..].starts_with('#');
            let line = rest[blank..].find('\n').unwrap_or(rest.len() - blank);
            self.at += blank + if comment { line } else { 0 };
            if !comment {
                return;
            }
        }
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(token);
        self.at += if found { token.len() } else { 0 };
        found
    }

    fn name(&mut self) -> Result<String, PolicyError> {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
        let name = rest[..end.unwrap_or(rest.len())].to_owned();
        if name.is_empty() {
            return self.error("a rule such as `prefix_rule(…)` is expected here");
        }
        self.at += name.len();
        Ok(name)
    }

    fn arguments(&mut self) -> Result<Arguments, PolicyError> {
        if !self.take("(") {
            return self.error("`(` is expected here");
        }
        let mut arguments = Arguments::new();
        while !self.take(")") {
            let name = self.name()?;
            if !self.take("=") {
                return self.error("`=` is expected here");
            }
            self.skip();
            let at = self.at;
            arguments.push((name, at, self.value(0)?));
            if !self.take(",")
                && !{
                    self.skip();
                    self.rest().starts_with(')')
                }
            {
                return self.error("`,` or `)` is expected here");
            }
        }
        Ok(arguments)
    }

    fn value(&mut self, depth: usize) -> Result<Value, PolicyError> {
        if depth > MAX_DEPTH {
            return self.error("lists are nested too deeply");
        }
        if self.take("[") {
            let mut values = Vec::new();
            while !self.take("]") {
                self.skip();
                let at = self.at;
                values.push((at, self.value(depth + 1)?));
                if !self.take(",")
                    && !{
                        self.skip();
                        self.rest().starts_with(']')
                    }
                {
                    return self.error("`,` or `]` is expected here");
                }
            }
            return Ok(Value::List(values));
        }
        let quote = self.rest().chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            let name = self.name()?;
            return match name.as_str() {
                "None" | "True" | "False" => Ok(Value::Other),
                _ => self.error("only strings and lists are read here"),
            };
        };
        self.string(quote).map(Value::Text)
    }

    fn string(&mut self, quote: char) -> Result<String, PolicyError> {
        let mut text = String::new();
        let rest = self.rest().to_owned();
        let mut characters = rest.char_indices().skip(1);
        while let Some((index, character)) = characters.next() {
            match character {
                '\n' => break,
                '\\' => match characters.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, escaped @ ('\\' | '"' | '\''))) => text.push(escaped),
                    _ => return self.error("this escape is not known"),
                },
                _ if character == quote => {
                    self.at += index + 1;
                    return Ok(text);
                }
                other => text.push(other),
            }
        }
        self.error("the string is not closed")
    }
}
