//! Prompts of servers as slash commands: `/mcp:SERVER:PROMPT`.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_coding_agent::extension::{
    ArgumentCompleter, Command, Completion, ExtensionContext, ExtensionError, InputSource,
};
use pi_coding_agent::session::{PromptOptions, StreamingBehavior};
use pi_mcp::client::CallOptions;
use pi_mcp::protocol::completion::CompletionArgument;
use pi_mcp::protocol::{
    CompleteParams, CompletionReference, ContentBlock, GetPromptResult, Prompt,
};
use pi_protocol::ImageContent;
use serde_json::{Map, Value, json};

use crate::images::{self, Room};
use crate::server::Server;
use crate::servers::WeakServers;
use crate::text::clean_line;

/// The longest text of a prompt, in bytes.
const LONGEST: usize = 1 << 20;

/// The most completions of an argument.
const MOST_COMPLETIONS: usize = 100;

/// Makes the commands for the prompts of a server.
pub(crate) fn commands(server: &Arc<Server>, servers: &WeakServers) -> Vec<Command> {
    let Some(lists) = server.known_lists() else { return Vec::new() };
    let usable = lists.prompts.iter().filter(|prompt| is_usable(&prompt.name));
    usable.map(|prompt| command(prompt, server, servers)).collect()
}

/// Returns true if a prompt can be called by its name: a command ends at a space.
fn is_usable(name: &str) -> bool {
    !name.is_empty()
        && name.len() <= 128
        && !name.chars().any(|c| c.is_whitespace() || c.is_control())
        && crate::text::clean(name, 200) == name
}

fn command(prompt: &Prompt, server: &Arc<Server>, servers: &WeakServers) -> Command {
    let name = format!("mcp:{}:{}", server.name, prompt.name);
    let mut description = prompt.description.as_ref().or(prompt.title.as_ref()).map_or_else(
        || format!("Prompt of the MCP server {}", server.name),
        |text| clean_line(text, 200),
    );
    let arguments: Vec<String> = prompt
        .arguments
        .iter()
        .map(|argument| {
            let name = clean_line(&argument.name, 50);
            if argument.required { format!("<{name}>") } else { format!("[{name}]") }
        })
        .collect();
    if !arguments.is_empty() {
        description.push_str(&format!(" {}", arguments.join(" ")));
    }
    let call = {
        let (prompt, server, servers) = (prompt.clone(), Arc::clone(server), servers.clone());
        move |text: String, context: ExtensionContext| {
            let (prompt, server, servers) = (prompt.clone(), Arc::clone(&server), servers.clone());
            async move { run(&prompt, &server, &servers, &text, &context).await }
        }
    };
    Command::new(name, description, call).completer(completer(prompt, server, servers))
}

/// Fills in the prompt and submits it as a prompt of the user.
async fn run(
    prompt: &Prompt,
    server: &Arc<Server>,
    servers: &WeakServers,
    text: &str,
    context: &ExtensionContext,
) -> Result<(), ExtensionError> {
    let gone = || ExtensionError::new("the session has ended");
    let arguments = arguments(prompt, text).map_err(ExtensionError::new)?;
    let servers = servers.upgrade().ok_or_else(gone)?;
    let client = servers.client(server).await.map_err(ExtensionError::with_source)?;
    let session = context.session().ok_or_else(gone)?;
    let filled = client.get_prompt(&prompt.name, arguments, &CallOptions::default()).await;
    let (text, images) = content(&filled.map_err(ExtensionError::with_source)?);
    if text.trim().is_empty() && images.is_empty() {
        return Err(ExtensionError::new("the prompt is empty"));
    }
    let options = PromptOptions::default()
        .source(InputSource::Extension)
        .images(images)
        .streaming_behavior(StreamingBehavior::FollowUp)
        .literal();
    session.prompt(&text, options).await.map_err(ExtensionError::with_source)?;
    Ok(())
}

/// Returns the text and the images of a prompt. Its messages become one message of the user.
fn content(filled: &GetPromptResult) -> (String, Vec<ImageContent>) {
    let (mut texts, mut found) = (Vec::new(), Vec::new());
    let mut room = Room::default();
    for message in &filled.messages {
        match &message.content {
            ContentBlock::Text { text, .. } => texts.push(text.clone()),
            ContentBlock::Image { data, .. } => {
                let kind = STANDARD.decode(data).ok().and_then(|bytes| images::kind(&bytes));
                match kind.filter(|_| room.take(data.len())) {
                    Some(kind) => found.push(ImageContent::new(data, kind)),
                    None => texts.push("[An image was left out: no model accepts it]".to_owned()),
                }
            }
            ContentBlock::Resource { resource, .. } => {
                texts.extend(resource.text.clone());
            }
            ContentBlock::ResourceLink(link) => texts.push(format!("[Resource {}]", link.uri)),
            _ => {}
        }
    }
    let mut text = texts.join("\n\n");
    text.truncate(text.floor_char_boundary(LONGEST));
    (text, found)
}

/// Reads `name=value` and values in the order of the arguments. The last argument takes the rest.
fn arguments(prompt: &Prompt, text: &str) -> Result<Map<String, Value>, String> {
    let mut given = Map::new();
    let mut rest = text.trim();
    let is_argument = |name: &str| prompt.arguments.iter().any(|one| one.name == name);
    while !rest.is_empty() {
        let open: Vec<&str> = prompt
            .arguments
            .iter()
            .map(|argument| argument.name.as_str())
            .filter(|name| !given.contains_key(*name))
            .collect();
        let named = rest.split_once('=').filter(|(name, _)| is_argument(name));
        let (name, after) = match (named, open.first()) {
            (Some((name, after)), _) => (name, after),
            (None, Some(name)) => (*name, rest),
            (None, None) => return Err(format!("the prompt has no argument for \"{rest}\"")),
        };
        let is_last = open.len() <= 1 && named.is_none();
        let (value, left) = if is_last { (after, "") } else { word(after) };
        given.insert(name.to_owned(), unquoted(value).into());
        rest = left.trim_start();
    }
    let missing =
        prompt.arguments.iter().find(|one| one.required && !given.contains_key(&one.name));
    match missing {
        Some(argument) => Err(format!("the prompt needs the argument {}", argument.name)),
        None => Ok(given),
    }
}

/// Splits off the first word; quotes keep spaces.
fn word(text: &str) -> (&str, &str) {
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''));
    let end = match quote {
        Some(quote) => text.get(1..).and_then(|rest| rest.find(quote)).map(|at| at + 2),
        None => text.find(char::is_whitespace),
    };
    text.split_at(end.unwrap_or(text.len()))
}

fn unquoted(text: &str) -> &str {
    for quote in ['"', '\''] {
        let inner = text.strip_prefix(quote).and_then(|text| text.strip_suffix(quote));
        if let Some(inner) = inner {
            return inner;
        }
    }
    text
}

/// Completes the value of the argument that is being typed, by asking the server.
fn completer(prompt: &Prompt, server: &Arc<Server>, servers: &WeakServers) -> ArgumentCompleter {
    let (prompt, server, servers) = (prompt.clone(), Arc::clone(server), servers.clone());
    Arc::new(move |typed| {
        let (prompt, server, servers) = (prompt.clone(), Arc::clone(&server), servers.clone());
        Box::pin(async move {
            let completed = complete(&prompt, &server, &servers, &typed).await;
            completed.unwrap_or_default()
        })
    })
}

async fn complete(
    prompt: &Prompt,
    server: &Arc<Server>,
    servers: &WeakServers,
    typed: &str,
) -> Option<Vec<Completion>> {
    let lists = server.known_lists()?;
    lists.capabilities.completions.as_ref()?;
    let start = typed.rfind(char::is_whitespace).map_or(0, |at| at + 1);
    let (before, last) = typed.split_at(start);
    let (name, value, prefix) = match last.split_once('=') {
        Some((name, value)) => (name.to_owned(), value, format!("{before}{name}=")),
        None => {
            let position = before.split_whitespace().count();
            let argument = prompt.arguments.get(position)?;
            (argument.name.clone(), last, before.to_owned())
        }
    };
    let servers = servers.upgrade()?;
    let client = servers.client(server).await.ok()?;
    let known = arguments(prompt, before.trim()).unwrap_or_default();
    let params = CompleteParams {
        reference: CompletionReference::Prompt { name: prompt.name.clone() },
        argument: CompletionArgument { name, value: value.to_owned() },
        context: (!known.is_empty()).then(|| json!({ "arguments": known })),
    };
    let completed = client.complete(&params, &CallOptions::default()).await.ok()?;
    let values = completed.completion.values.into_iter().take(MOST_COMPLETIONS);
    let shown = values.map(|value| Completion {
        label: clean_line(&value, 200),
        value: format!("{prefix}{value}"),
        description: None,
    });
    Some(shown.collect())
}

#[cfg(test)]
mod tests {
    use pi_mcp::protocol::PromptArgument;

    use super::*;

    #[test]
    fn arguments_are_named_or_in_order() {
        let argument = |name: &str, required| PromptArgument {
            name: name.to_owned(),
            required,
            ..PromptArgument::default()
        };
        let prompt = Prompt {
            arguments: vec![argument("city", true), argument("note", false)],
            ..Prompt::default()
        };
        for (text, expected) in [
            ("Bonn", Ok(json!({"city": "Bonn"}))),
            ("Bonn a longer note", Ok(json!({"city": "Bonn", "note": "a longer note"}))),
            ("note=x city=\"Bad Ems\"", Ok(json!({"note": "x", "city": "Bad Ems"}))),
            ("'Bad Ems' a=b", Ok(json!({"city": "Bad Ems", "note": "a=b"}))),
            ("note=x", Err("the prompt needs the argument city".to_owned())),
            ("", Err("the prompt needs the argument city".to_owned())),
            ("city=a note=b c", Err("the prompt has no argument for \"c\"".to_owned())),
        ] {
            assert_eq!(arguments(&prompt, text).map(Value::Object), expected, "{text}");
        }
    }
}
