//! The command line.

use lexopt::prelude::*;

pub(crate) const HELP: &str = "\
pi: an agent framework and coding agent

Usage: pi demo [--model PROVIDER/ID] [--thinking LEVEL] [PROMPT]
       pi --version | --help

Commands:
  demo       Stream an answer. Without --model it comes from a scripted model
             that needs no key and no network.

Options of demo:
  --model PROVIDER/ID   A real model, for example anthropic/claude-sonnet-4-5;
                        its key is taken from the environment, for example
                        ANTHROPIC_API_KEY
  --thinking LEVEL      off, minimal, low, medium, high, xhigh or max

Exit codes: 0 answer complete, 1 request failed, 2 wrong usage,
            3 answer cut at the output limit, 130 interrupted
";

/// What was asked for.
#[derive(Debug, PartialEq)]
pub(crate) enum Command {
    Version,
    Help,
    Demo(DemoOptions),
}

/// The options of `pi demo`.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct DemoOptions {
    pub(crate) model: Option<ModelName>,
    pub(crate) thinking: Option<pi_ai::ThinkingLevel>,
    pub(crate) prompt: Option<String>,
}

/// A model named as `PROVIDER/ID`; the id may itself contain slashes.
#[derive(Debug, PartialEq)]
pub(crate) struct ModelName {
    pub(crate) provider: String,
    pub(crate) id: String,
}

pub(crate) fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    match parser.next()? {
        None | Some(Short('h') | Long("help")) => Ok(Command::Help),
        Some(Short('v' | 'V') | Long("version")) => Ok(Command::Version),
        Some(Value(command)) if command == "demo" => demo(parser),
        Some(Value(command)) => {
            let command = command.to_string_lossy();
            Err(format!("there is no command \"{command}\"; see `pi --help`").into())
        }
        Some(other) => Err(other.unexpected()),
    }
}

fn demo(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut options = DemoOptions::default();
    let mut words: Vec<String> = Vec::new();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Command::Help),
            Long("model") => options.model = Some(model_name(&parser.value()?.string()?)?),
            Long("thinking") => options.thinking = Some(parser.value()?.parse()?),
            Value(word) => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    options.prompt = Some(words.join(" ")).filter(|prompt| !prompt.trim().is_empty());
    Ok(Command::Demo(options))
}

fn model_name(text: &str) -> Result<ModelName, lexopt::Error> {
    match text.split_once('/') {
        Some((provider, id)) if !provider.is_empty() && !id.is_empty() => {
            Ok(ModelName { provider: provider.to_owned(), id: id.to_owned() })
        }
        _ => Err(format!("--model takes PROVIDER/ID, not \"{text}\"").into()),
    }
}
