//! Rule files of Codex: a few calls in the syntax of Starlark, of which this reads only literals.

use super::file::{Example, RuleFile, Source, check_example, check_prefix};
use super::rule::CommandRule;
use super::{HostRule, PolicyError, sense};
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
        let known: &[&str] = match name.as_str() {
            "prefix_rule" => &["pattern", "decision", "justification", "match", "not_match"],
            "network_rule" => &["host", "protocol", "decision", "justification"],
            "host_executable" => &["name", "paths"],
            _ => return Err(source.error(start, reader.statement(&name))),
        };
        let arguments = reader.arguments()?;
        for (index, (key, at, _)) in arguments.iter().enumerate() {
            if !known.contains(&key.as_str()) {
                let known = known.join(", ");
                return Err(source.error(*at, format!("`{key}` is not known here, only {known}")));
            }
            if arguments[..index].iter().any(|(earlier, ..)| earlier == key) {
                return Err(source.error(*at, format!("`{key}` is there twice; take one out")));
            }
        }
        match name.as_str() {
            "prefix_rule" => {
                rules.commands.push(prefix_rule(&arguments, start, source)?);
                rules.examples += examples(&arguments);
            }
            "network_rule" => rules.hosts.push(network_rule(&arguments, start, source)?),
            "host_executable" => {
                let name = text(&arguments, "name", start, source)?;
                let paths = texts(&arguments, "paths", start, source)?;
                sense::executable(&name, &paths).map_err(|message| source.error(start, message))?;
                rules.executables.push((name, paths));
            }
            _ => return Err(source.error(start, reader.statement(&name))),
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
    let hosts = vec![text(arguments, "host", start, source)?];
    sense::hosts(&hosts).map_err(|message| source.error(start, message))?;
    Ok(HostRule {
        hosts,
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
        other => {
            let message = format!(
                "`{other}` is not a decision; write \"allow\", \"prompt\" or \"forbidden\""
            );
            let at = find(arguments, "decision").map_or(start, |(at, _)| at);
            Err(source.error(at, message))
        }
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
        Value::List(_) => Err(source.error(
            *at,
            "alternatives inside alternatives are not supported; write them as one list",
        )),
        Value::Other => Err(source.error(*at, "a string is expected here")),
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
            self.skip();
            if self.rest().starts_with(['"', '\'', '[']) {
                return self
                    .error("arguments without a name are not supported; write `name = value`");
            }
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
                return self.unsupported("`,` or `)` is expected here");
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
                    return self.unsupported("`,` or `]` is expected here");
                }
            }
            return Ok(Value::List(values));
        }
        let raw = ["r\"", "r'"].iter().any(|start| self.rest().starts_with(start));
        self.at += usize::from(raw);
        let quote = self.rest().chars().next().filter(|c| matches!(c, '"' | '\''));
        let Some(quote) = quote else {
            let at = self.at;
            let what = match self.rest().chars().next() {
                Some('{') => "a dictionary".to_owned(),
                Some('(') => "a tuple".to_owned(),
                Some(c) if c.is_ascii_digit() || c == '-' => "a number".to_owned(),
                _ => {
                    let name = self.name()?;
                    if matches!(name.as_str(), "None" | "True" | "False") {
                        return Ok(Value::Other);
                    }
                    match self.rest().chars().next() {
                        Some('"' | '\'') => format!("a string with the prefix `{name}`"),
                        Some('(') => format!("the call of `{name}`"),
                        _ => format!("the variable `{name}`"),
                    }
                }
            };
            let message = format!("{what} is not supported here; write strings and lists");
            return Err(self.source.error(at, message));
        };
        self.string(quote, raw).map(Value::Text)
    }

    /// What is wrong where a value has ended and something else follows.
    fn unsupported<T>(&self, otherwise: &str) -> Result<T, PolicyError> {
        let rest = self.rest();
        let what = match rest.chars().next() {
            Some('+') => "adding strings or lists with `+`",
            Some('%') => "formatting with `%`",
            Some('.') => "calling methods",
            Some('"' | '\'') => "strings beside each other",
            Some('[') => "taking elements with `[…]`",
            _ if rest.starts_with("for ") => "a list comprehension",
            _ if rest.starts_with("if ") => "a condition",
            _ => return self.error(otherwise),
        };
        self.error(&format!("{what} is not supported; write the values out"))
    }

    /// What is wrong with a statement that begins with this name.
    fn statement(&mut self, name: &str) -> String {
        self.skip();
        let what = match name {
            "load" => "`load` of another file".to_owned(),
            "def" | "for" | "if" | "while" | "return" | "lambda" => {
                format!("the statement `{name}`")
            }
            _ if self.rest().starts_with('(') => {
                return format!(
                    "`{name}` is not a rule that is known, only prefix_rule, network_rule and \
                     host_executable"
                );
            }
            _ if self.rest().starts_with('=') => format!("the assignment to `{name}`"),
            _ => format!("`{name}`"),
        };
        format!("{what} is not supported; write out the rules it stands for")
    }

    fn string(&mut self, quote: char, raw: bool) -> Result<String, PolicyError> {
        let triple: String = [quote; 3].iter().collect();
        let long = self.rest().starts_with(&triple);
        let close = if long { triple } else { quote.to_string() };
        let start = self.at + close.len();
        let mut text = String::new();
        let mut at = start;
        loop {
            let rest = self.source.text.get(at..).unwrap_or_default();
            if rest.starts_with(&close) {
                self.at = at + close.len();
                return Ok(text);
            }
            let mut characters = rest.chars();
            match characters.next() {
                None => return self.error("the string is not closed"),
                Some('\n') if !long => return self.error("the string is not closed"),
                Some('\r') if long && rest.starts_with("\r\n") => {}
                Some('\\') if !raw => {
                    match characters.next() {
                        Some('n') => text.push('\n'),
                        Some('t') => text.push('\t'),
                        Some(escaped @ ('\\' | '"' | '\'')) => text.push(escaped),
                        Some('\n') => {}
                        _ => return self.error("this escape is not known"),
                    }
                    at += 1;
                }
                Some('\\') => {
                    // In a raw string a quote can be escaped, and the backslash stays.
                    text.push('\\');
                    if let Some(next) = characters.next().filter(|c| *c == quote) {
                        text.push(next);
                        at += next.len_utf8();
                    }
                }
                Some(other) => {
                    text.push(other);
                    at += other.len_utf8() - 1;
                }
            }
            at += 1;
        }
    }
}
