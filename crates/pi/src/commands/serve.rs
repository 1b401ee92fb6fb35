//! `pi serve token` and `pi serve --share`: tokens of the server, which a running server notices.

use pi_coding_agent::Project;
use pi_host::sessions::SessionStore;
use pi_serve::announce::running;
use pi_serve::api::tokens::parse_life;
use pi_serve::entrance::Right;
use pi_serve::entrance::tokens::{NewToken, TokenInfo, Tokens, TokensError};
use secrecy::ExposeSecret as _;
use serde_json::json;

use super::{CommandResult, Failure, project, success};
use crate::exit::{note, print};
use crate::flags::parse::CommandArgs;

/// The life of a link without `--for`.
const LINK_LIFE: &str = "1d";

/// Adds a token and prints it.
pub(super) fn add(args: &CommandArgs) -> CommandResult {
    let name = args.word(0).unwrap_or_default();
    let right = args.value("right").and_then(Right::named).unwrap_or(Right::View);
    let mut new = NewToken::new(name, right);
    new.life = args.value("for").map(life).transpose()?;
    let project = project::open(args)?;
    if let Some(reference) = args.value("session") {
        if right != Right::View {
            return Err(Failure::usage("a token for one session may only view"));
        }
        new.session = Some(session(&project, reference)?);
    }
    give(&project, new)
}

/// Makes a link for viewing one session.
pub(super) fn share(args: &CommandArgs) -> CommandResult {
    let reference = args.value("share").unwrap_or_default();
    let project = project::open(args)?;
    let id = session(&project, reference)?;
    let mut name = format!("share-{}", id.chars().take(40).collect::<String>());
    let taken = open(&project)?.list().map_err(|error| failed(&error))?;
    let base = name.clone();
    let mut number = 2;
    while taken.iter().any(|token| token.name == name) {
        name = format!("{base}-{number}");
        number += 1;
    }
    let mut new = NewToken::new(name, Right::View);
    new.session = Some(id);
    new.life = Some(life(args.value("for").unwrap_or(LINK_LIFE))?);
    give(&project, new)
}

fn give(project: &Project, new: NewToken) -> CommandResult {
    let (name, life) = (new.name.clone(), new.life);
    let token = open(project)?.add(new).map_err(|error| failed(&error))?;
    let token = token.expose_secret();
    let directory = project.environment().agent_directory.join("serve");
    let exit = match running(&directory).first() {
        Some(server) => print(&format!("{}/#t={token}\n", server.url)),
        None => {
            note("no server runs at the moment; this is the token alone");
            print(&format!("{token}\n"))
        }
    };
    let by_itself = if life.is_some() { "by itself after its time, or " } else { "" };
    note(&format!("it ends {by_itself}with `pi serve token revoke {name}`"));
    Ok(exit)
}

/// Lists the tokens.
pub(super) fn list(args: &CommandArgs) -> CommandResult {
    let tokens = open(&project::open(args)?)?.list().map_err(|error| failed(&error))?;
    if args.has("json") {
        return Ok(print(&format!("{}\n", json!({ "tokens": tokens }))));
    }
    if tokens.is_empty() {
        note("there are no tokens; `pi serve` makes one, `pi serve token add NAME` another");
    }
    let lines: String = tokens.iter().map(line).collect();
    Ok(print(&lines))
}

fn line(token: &TokenInfo) -> String {
    let TokenInfo { name, right, session, expires, last_used, .. } = token;
    let mut text = format!("{name}  {}", right.as_str());
    if let Some(session) = session {
        text.push_str(&format!("  session {session}"));
    }
    if let Some(expires) = expires {
        text.push_str(&format!("  until {expires:.0}"));
    }
    match last_used {
        Some(time) => text.push_str(&format!("  last used {time:.0}")),
        None => text.push_str("  never used"),
    }
    text.push('\n');
    text
}

/// Revokes a token.
pub(super) fn revoke(args: &CommandArgs) -> CommandResult {
    let name = args.word(0).unwrap_or_default();
    open(&project::open(args)?)?.revoke(name).map_err(|error| failed(&error))?;
    Ok(success())
}

fn open(project: &Project) -> Result<Tokens, Failure> {
    Tokens::open(&project.environment().agent_directory.join("serve"))
        .map_err(|error| failed(&error))
}

fn failed(error: &TokensError) -> Failure {
    let hint = match error {
        TokensError::Exists(_) => Some("choose another name, or revoke the token first"),
        TokensError::Unknown(_) => Some("list the tokens with `pi serve token list`"),
        _ => None,
    };
    let failure = Failure::failed(error.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}

fn life(text: &str) -> Result<jiff::SignedDuration, Failure> {
    parse_life(text).ok_or_else(|| {
        let message =
            format!("--for: expected a number with s, m, h or d, such as 2h, not \"{text}\"");
        Failure::usage(message)
    })
}

/// Returns the id of a session.
fn session(project: &Project, reference: &str) -> Result<String, Failure> {
    let mut store = SessionStore::open(project.clone(), None);
    let path = store.find(reference).map_err(|error| Failure::failed(error.to_string()))?;
    let header = pi_session::read_header(&path);
    let unreadable = || Failure::failed(format!("{} is not a session", path.display()));
    header.map(|header| header.id).ok_or_else(unreadable)
}
