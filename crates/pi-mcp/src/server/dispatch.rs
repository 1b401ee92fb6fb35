//! The meaning of a request: an answer, a call that takes time, or a subscription.

use std::sync::Arc;

use pi_jsonrpc::Error;
use serde_json::{Map, Value, json};

use super::call::{Call, Identity};
use super::client::Client;
use super::context::Ask;
use super::listen::Filter;
use super::service::Listing;
use super::session::Session;
use super::tasks::Task;
use super::{Server, envelope};
use crate::protocol::meta::TASKS_EXTENSION;
use crate::protocol::methods;

/// The items of one page of a list.
const PAGE: usize = 200;

/// The most values of a completion.
const COMPLETIONS: usize = 100;

/// Consequence of a request.
#[derive(Debug)]
pub(super) enum Step {
    /// The request has its response.
    Reply(Result<Value, Error>),
    /// A call runs.
    Call(Call),
    /// A parked call has the answers of its client.
    Resume(Call, Ask),
    /// The client listens.
    Listen(Filter),
    /// An old client waits for the result of its task.
    Result(Arc<Task>),
}

/// A request with what is known about its client.
#[derive(Debug)]
pub(super) struct Asked<'a> {
    pub(super) method: &'a str,
    pub(super) params: Option<&'a Value>,
    pub(super) client: Client,
    /// The session of an old client.
    pub(super) session: Option<&'a Session>,
}

/// Decides what a request means.
pub(super) async fn dispatch(server: &Server, asked: Asked<'_>) -> Step {
    match step(server, &asked).await {
        Ok(Step::Reply(Ok(result))) if asked.client.is_modern() => {
            Step::Reply(Ok(envelope::complete(result, &server.about().info())))
        }
        Ok(step) => step,
        Err(error) => Step::Reply(Err(error)),
    }
}

async fn step(server: &Server, asked: &Asked<'_>) -> Result<Step, Error> {
    let (method, is_modern) = (asked.method, asked.client.is_modern());
    let params = match asked.params {
        Some(Value::Object(params)) => params.clone(),
        None => Map::new(),
        Some(_) => return Err(Error::invalid_params("the parameters must be an object")),
    };
    let offers = server.about().offers;
    if let Some(listing) = Listing::of_method(method).filter(|listing| offers.listing(*listing)) {
        return reply(list(server, listing, &params, is_modern).await);
    }
    if let Some(session) = asked.session
        && let Some(result) = legacy(server, session, method, &params)
    {
        return result;
    }
    match method {
        methods::DISCOVER if is_modern => reply(Ok(discover(server))),
        methods::LISTEN if is_modern => Ok(Step::Listen(Filter::read(asked.params, offers)?)),
        methods::TOOLS_CALL if offers.tools => call(server, asked, &params, "name"),
        methods::PROMPTS_GET if offers.prompts => call(server, asked, &params, "name"),
        methods::RESOURCES_READ if offers.resources => call(server, asked, &params, "uri"),
        methods::COMPLETE if offers.completions => reply(complete(server, params).await),
        methods::TASKS_GET | methods::TASKS_UPDATE | methods::TASKS_CANCEL
            if is_modern && offers.tasks =>
        {
            asked.client.require_extension(TASKS_EXTENSION)?;
            let tasks = server.tasks();
            reply(match method {
                methods::TASKS_GET => tasks.get(&params, true),
                methods::TASKS_UPDATE => tasks.update(&params),
                _ => tasks.cancel(&params, true),
            })
        }
        _ => Err(Error::method_not_found(method)),
    }
}

fn reply(result: Result<Value, Error>) -> Result<Step, Error> {
    result.map(|result| Step::Reply(Ok(result)))
}

/// Answers the methods that only old clients have.
fn legacy(
    server: &Server,
    session: &Session,
    method: &str,
    params: &Map<String, Value>,
) -> Option<Result<Step, Error>> {
    let offers = server.about().offers;
    let tasks = server.tasks();
    Some(match method {
        methods::PING => reply(Ok(json!({}))),
        methods::SET_LEVEL if offers.logging => reply(session.set_level(params)),
        methods::RESOURCES_SUBSCRIBE if offers.resources => reply(session.subscribe(params, true)),
        methods::RESOURCES_UNSUBSCRIBE if offers.resources => {
            reply(session.subscribe(params, false))
        }
        methods::TASKS_GET if offers.tasks => reply(tasks.get(params, false)),
        methods::TASKS_RESULT if offers.tasks => tasks.find(params, false).map(Step::Result),
        methods::TASKS_LIST if offers.tasks => reply(Ok(tasks.list())),
        methods::TASKS_CANCEL if offers.tasks => reply(tasks.cancel(params, false)),
        _ => return None,
    })
}

fn discover(server: &Server) -> Value {
    let about = server.about();
    let mut result = json!({
        "supportedVersions": envelope::supported(),
        "capabilities": about.offers.modern(),
    });
    if let Some(instructions) = &about.instructions {
        result["instructions"] = json!(instructions);
    }
    cacheable(&mut result);
    result
}

/// Adds the hints for caches: a client may neither keep nor share the result.
pub(super) fn cacheable(result: &mut Value) {
    result["ttlMs"] = json!(0);
    result["cacheScope"] = json!("private");
}

async fn list(
    server: &Server,
    listing: Listing,
    params: &Map<String, Value>,
    is_modern: bool,
) -> Result<Value, Error> {
    let start = match params.get("cursor") {
        None | Some(Value::Null) => 0,
        Some(cursor) => cursor
            .as_str()
            .and_then(|cursor| cursor.parse::<usize>().ok())
            .ok_or_else(|| Error::invalid_params("unknown cursor"))?,
    };
    let items = server.service().list(listing).await?;
    let end = start.saturating_add(PAGE).min(items.len());
    let Some(page) = items.get(start..end) else {
        return Err(Error::invalid_params("unknown cursor"));
    };
    let mut result = json!({ listing.key(): page });
    if end < items.len() {
        result["nextCursor"] = json!(end.to_string());
    }
    if is_modern {
        cacheable(&mut result);
    }
    Ok(result)
}

/// Starts a call, or continues one that is parked.
fn call(
    server: &Server,
    asked: &Asked<'_>,
    params: &Map<String, Value>,
    key: &str,
) -> Result<Step, Error> {
    let Some(name) = params.get(key).and_then(Value::as_str) else {
        return Err(Error::invalid_params(format_args!("`{key}` is required")));
    };
    let arguments = match params.get("arguments") {
        None | Some(Value::Null) => Map::new(),
        Some(Value::Object(arguments)) => arguments.clone(),
        Some(_) => return Err(Error::invalid_params("`arguments` must be an object")),
    };
    let (method, name) = (asked.method.to_owned(), name.to_owned());
    let identity = Identity { method, name, arguments };
    let given = match params.get("inputResponses") {
        None => None,
        Some(Value::Object(given)) => Some(given),
        Some(_) => return Err(Error::invalid_params("`inputResponses` must be an object")),
    };
    match params.get("requestState").filter(|_| asked.client.is_modern()) {
        None => Ok(Step::Call(Call::start(server, asked.client.clone(), identity, params))),
        Some(Value::String(state)) => {
            let (mut call, ask) = server.parked().resume(state, &identity)?;
            call.given = given.cloned().unwrap_or_default();
            call.progress_token.set(params.get("_meta"));
            Ok(Step::Resume(call, ask))
        }
        Some(_) => Err(Error::invalid_params("`requestState` must be a text")),
    }
}

async fn complete(server: &Server, params: Map<String, Value>) -> Result<Value, Error> {
    let is_complete =
        ["ref", "argument"].iter().all(|key| params.get(*key).is_some_and(Value::is_object));
    if !is_complete {
        return Err(Error::invalid_params("`ref` and `argument` are required"));
    }
    let values = server.service().complete(params).await?;
    let sent = &values[..values.len().min(COMPLETIONS)];
    Ok(json!({
        "completion": {
            "values": sent,
            "total": values.len(),
            "hasMore": sent.len() < values.len(),
        }
    }))
}
